export { sluiceMiddleware } from "./middleware.ts";
export type { SluiceVariables } from "./middleware.ts";
