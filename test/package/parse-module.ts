import { parseSync, Visitor } from "vite";

export interface ModuleImport {
  /** As written: `./bucket.ts`, `itty-router`, `node:fs`. */
  readonly specifier: string;
  /** Erased by the compiler, so it brings no code along. */
  readonly typeOnly: boolean;
}

export interface ModuleShape {
  readonly imports: readonly ModuleImport[];
  /** Exported names, types included; a star re-export is listed as `*` and its specifier. */
  readonly exports: readonly { readonly name: string; readonly typeOnly: boolean; readonly from: string | null }[];
  /** Ambient time, chance or module state that is used, as the source text of each place. */
  readonly ambient: readonly string[];
  /** Whether anything is left once the types are erased. */
  readonly hasCode: boolean;
}

/** Calls that read the machine's clock or dice; `new Date()` and `Date()` are found by their shape. */
const AMBIENT_MEMBERS = new Set([
  "Date.now",
  "Math.random",
  "performance.now",
  "crypto.randomUUID",
  "crypto.getRandomValues",
]);
const TYPE_STATEMENTS = new Set(["TSInterfaceDeclaration", "TSTypeAliasDeclaration"]);

/** Reads one TypeScript module. Throws a SyntaxError that names the file when it does not parse. */
export function parseModule(path: string, source: string): ModuleShape {
  const parsed = parseSync(path, source, {});
  const [error] = parsed.errors;
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`);

  const imports: ModuleImport[] = [];
  const ambient: string[] = [];
  const exports: ModuleShape["exports"][number][] = [];
  const text = (node: { start: number; end: number }): string => source.slice(node.start, node.end);
  const unquote = (literal: string): string =>
    /^(["'`]).*\1$/s.test(literal) ? literal.slice(1, -1) : `(computed) ${literal}`;

  let hasCode = false;
  for (const statement of parsed.program.body) {
    if (statement.type === "ImportDeclaration") {
      const typeOnly = statement.importKind === "type";
      imports.push({ specifier: statement.source.value, typeOnly });
    } else if (statement.type === "ExportAllDeclaration") {
      const typeOnly = statement.exportKind === "type";
      imports.push({ specifier: statement.source.value, typeOnly });
      hasCode ||= !typeOnly;
    } else if (statement.type === "ExportNamedDeclaration") {
      const typeOnly =
        statement.exportKind === "type" ||
        (statement.declaration !== null && TYPE_STATEMENTS.has(statement.declaration.type));
      if (statement.source !== null) imports.push({ specifier: statement.source.value, typeOnly });
      hasCode ||= !typeOnly;
    } else {
      hasCode ||= !TYPE_STATEMENTS.has(statement.type);
    }
  }

  for (const { entries } of parsed.module.staticExports) {
    for (const entry of entries) {
      const from = entry.moduleRequest?.value ?? null;
      const name = entry.exportName.name ?? (entry.exportName.kind === "Default" ? "default" : "*");
      exports.push({ name, typeOnly: entry.isType, from });
    }
  }

  new Visitor({
    ImportExpression(node) {
      imports.push({ specifier: unquote(text(node.source)), typeOnly: false });
    },
    TSImportType(node) {
      imports.push({ specifier: unquote(text(node.source)), typeOnly: true });
    },
    MemberExpression(node) {
      if (node.object.type !== "Identifier") return;
      const member = node.computed ? unquote(text(node.property)) : text(node.property);
      if (AMBIENT_MEMBERS.has(`${node.object.name}.${member}`)) ambient.push(text(node));
    },
    NewExpression(node) {
      if (text(node.callee) === "Date" && node.arguments.length === 0) ambient.push(text(node));
    },
    CallExpression(node) {
      if (text(node.callee) === "Date") ambient.push(text(node));
    },
  }).visit(parsed.program);

  return { imports, exports, ambient, hasCode };
}
