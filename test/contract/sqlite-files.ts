import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SqliteLedgerOptions } from "../../adapters/sqlite/index.ts";
import { SluiceError } from "../../src/errors.ts";
import type { ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import { NOON, TERMS } from "../fixtures/pure-store.ts";

/** What a ledger does with any file that may lie at its path. */
export function sqliteFiles(name: string, sqliteLedger: (options: SqliteLedgerOptions) => Ledger): void {
  describe(`files of ${name}`, () => {
    let folder: string;
    let path: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "sluice-files-"));
      path = join(folder, "state.db");
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    function asking(target: string): ExchangeRequest {
      const want = [{ n: 1, withinMs: 1_500, cost: 1, picks: [{ bucket: target, target, penaltyMs: 0 }] }];
      return { id: "a:1", terms: TERMS, settle: [], want, arrived: 0, since: 0, leadMs: 0, skewMs: 0, dice: 0.5 };
    }

    /** A state file in good order, several pages long. */
    function writeState(): void {
      const ledger = sqliteLedger({ path });
      for (let i = 0; i < 40; i++) void ledger.exchange("pool", { ...asking(`t${i}`), id: `a:${i + 1}` });
      void ledger.close?.();
    }

    function edit(sql: string): void {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    }

    function refusal(run: () => unknown): SluiceError {
      try {
        run();
      } catch (error) {
        if (error instanceof SluiceError) return error;
        throw error;
      }
      throw new Error("The file was accepted.");
    }

    /** Expects the refusal of a file that is left as it was, with nothing beside it. */
    function expectRefused(says: RegExp): void {
      const before = readFileSync(path);
      const beside = readdirSync(folder);
      const error = refusal(() => sqliteLedger({ path }));
      expect(error.code).toBe("config_invalid");
      expect(error.message).toMatch(/^SLUICE_STATE: /);
      expect(error.message).toContain(path);
      expect(error.message).toMatch(says);
      expect(readFileSync(path).equals(before)).toBe(true);
      expect(readdirSync(folder)).toEqual(beside);
    }

    describe("a state file that cannot be used is told and left alone", () => {
      const moveAway = /name a writable path, or move the file away/;

      it("a folder", () => {
        mkdirSync(path);
        const { code, message } = refusal(() => sqliteLedger({ path }));
        expect(code).toBe("config_invalid");
        expect(message).toMatch(/^SLUICE_STATE: .* name a writable path/);
        expect(readdirSync(path)).toEqual([]);
      });

      it("a path below a file", () => {
        writeFileSync(path, "a file");
        const { code, message } = refusal(() => sqliteLedger({ path: join(path, "deeper", "state.db") }));
        expect(code).toBe("config_invalid");
        expect(message).toMatch(/^SLUICE_STATE: .* name a writable path/);
        expect(readFileSync(path, "utf8")).toBe("a file");
      });

      it.each([
        ["a short text", "ETHERSCAN_KEYS=…\n"],
        ["a long text", "not a database\n".repeat(1_000)],
      ])("no database: %s", (_what, text) => {
        writeFileSync(path, text);
        expectRefused(/file is not a database/);
      });

      it.each(["WAL", "DELETE"])("a newer layout, journal mode %s", (mode) => {
        edit(`PRAGMA journal_mode = ${mode}; CREATE TABLE heads (anything); PRAGMA user_version = 99;`);
        expectRefused(/newer Sluice \(layout 99, this one knows 1\); use that version or another path/);
      });

      it("another program's database", () => {
        edit("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org/');");
        expectRefused(/another program's database; name a path of Sluice's own/);
      });

      it("a page overwritten with garbage", () => {
        writeState();
        const bytes = readFileSync(path);
        expect(bytes.length).toBeGreaterThan(4 * 4_096);
        bytes.fill(0xa5, 3 * 4_096, 4 * 4_096);
        writeFileSync(path, bytes);
        expectRefused(moveAway);
      });

      it("a file cut off", () => {
        writeState();
        writeFileSync(path, readFileSync(path).subarray(0, 5 * 4_096 + 100));
        expectRefused(moveAway);
      });

      it("a row that is no JSON", () => {
        writeState();
        edit("UPDATE rows SET data = substr(data, 1, 20) WHERE id = 't7' AND kind = 'target'");
        expectRefused(moveAway);
      });

      it("a row that stops being JSON while it is in use", () => {
        writeState();
        const ledger = sqliteLedger({ path });
        edit("UPDATE rows SET data = '{', version = 1000 WHERE id = 't7' AND kind = 'target'");
        const { code, message } = refusal(() => ledger.exchange("pool", asking("t7")));
        expect([code, message]).toEqual([
          "config_invalid",
          expect.stringMatching(/^SLUICE_STATE: .*move the file away/),
        ]);
        void ledger.close?.();
      });

      it("held by another program: says so, and works again when it lets go", () => {
        writeState();
        const ledger = sqliteLedger({ path });
        const other = new DatabaseSync(path);
        other.exec("BEGIN IMMEDIATE");
        const { message } = refusal(() => ledger.exchange("pool", asking("t1")));
        expect(message).toMatch(/^SLUICE_STATE: .*locked.*; end the other program that holds it/);
        other.exec("ROLLBACK");
        other.close();
        expect(ledger.exchange("pool", { ...asking("new"), id: "b:1" })).toMatchObject({ leases: [{ target: "new" }] });
        void ledger.close?.();
      });
    });

    describe("a state file that can be used", () => {
      it("is made with its folders", () => {
        path = join(folder, "a", "b", "state.db");
        void sqliteLedger({ path }).close?.();
        expect(existsSync(path)).toBe(true);
      });

      it("may be an empty file", () => {
        writeFileSync(path, "");
        const ledger = sqliteLedger({ path });
        expect(ledger.exchange("pool", asking("t"))).toMatchObject({ version: 1 });
        void ledger.close?.();
      });

      it("holds all of an exchange or nothing when the disk is full half-way", () => {
        const ledger = sqliteLedger({ path, now: () => NOON });
        void ledger.exchange("pool", asking("t"));
        edit("CREATE TRIGGER full BEFORE UPDATE ON heads BEGIN SELECT RAISE(ABORT, 'disk full'); END");
        const failed = { ...asking("t"), id: "a:2", orders: [{ target: "t", action: "disable" }] } as const;
        expect(refusal(() => ledger.exchange("pool", failed)).message).toMatch(/^SLUICE_STATE: .*disk full/);
        edit("DROP TRIGGER full");
        const other = sqliteLedger({ path, now: () => NOON });
        for (const [client, mine] of [other, ledger].entries()) {
          const reply = mine.exchange("pool", { ...asking("t"), id: `client-${client}:1`, want: [] });
          expect(reply).toMatchObject({
            version: 2 + client,
            changes: { targets: { t: { version: 1, disabled: null } } },
          });
        }
        // The request that failed was not entered as delivered either.
        expect(ledger.exchange("pool", failed)).toMatchObject({
          changes: { targets: { t: { disabled: "operator" } } },
        });
        void other.close?.();
        void ledger.close?.();
      });

      it("may be emptied while it is in use", () => {
        const ledger = sqliteLedger({ path });
        for (let i = 1; i < 9; i++) void ledger.exchange("pool", { ...asking("t"), id: `a:${i}` });
        edit("DELETE FROM rows; DELETE FROM heads;");
        const reply = ledger.exchange("pool", { ...asking("u"), id: "b:1", since: 8 });
        expect(reply).toMatchObject({ version: 1, changes: { targets: { u: { version: 1 } } } });
        expect(Object.keys((reply as Awaited<typeof reply>).changes.targets)).toEqual(["u"]);
        void ledger.close?.();
      });
    });

    it("a file that is removed while in use is told, not gone on with", () => {
      let now = NOON;
      const ledger = sqliteLedger({ path, now: () => now });
      void ledger.exchange("pool", asking("t"));
      rmSync(path);
      now += 3_000;
      const error = refusal(() => ledger.exchange("pool", { ...asking("t"), id: "a:2" }));
      expect(error.message).toContain("removed or replaced while in use; restart");
      void ledger.close?.();
    });
  });
}
