import { sqliteLedger } from "../../adapters/bun/index.ts";
import { sqliteFiles } from "../contract/sqlite-files.ts";

sqliteFiles("bun:sqlite", sqliteLedger);
