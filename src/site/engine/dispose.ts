/** @file `using` where a browser has no Symbol.dispose yet: to be imported before what has such a method. */

if (Symbol.dispose === undefined)
  Object.defineProperty(Symbol, "dispose", { value: Symbol.for("Symbol.dispose") });
