/** Something that can lie in one heap at a time; `heapIndex` is the heap's own and −1 outside. */
export interface HeapItem {
  heapIndex: number;
}

/** Binary heap whose items can be moved or taken out by reference: all operations in O(log n). */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  top(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    item.heapIndex = this.#items.length;
    this.#items.push(item);
    this.#up(item);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    const last = this.#items.pop();
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#items[index] = last;
    last.heapIndex = index;
    this.#up(last);
    this.#down(last);
  }

  /** Restores the order after the item's key has changed. */
  update(item: T): void {
    this.#up(item);
    this.#down(item);
  }

  #swap(a: T, b: T): void {
    const index = a.heapIndex;
    this.#items[b.heapIndex] = a;
    this.#items[index] = b;
    a.heapIndex = b.heapIndex;
    b.heapIndex = index;
  }

  #up(item: T): void {
    for (;;) {
      const parent = item.heapIndex === 0 ? undefined : this.#items[(item.heapIndex - 1) >> 1];
      if (parent === undefined || !this.#before(item, parent)) return;
      this.#swap(parent, item);
    }
  }

  #down(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.heapIndex + 1];
      const right = this.#items[2 * item.heapIndex + 2];
      const child = right !== undefined && left !== undefined && this.#before(right, left) ? right : left;
      if (child === undefined || !this.#before(child, item)) return;
      this.#swap(item, child);
    }
  }
}
