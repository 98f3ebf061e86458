import { posix, win32 } from "node:path";
import { describe, expect, test } from "vitest";
import { patternMatcher } from "../../src/files/find-models.ts";
import { suppressedPath } from "../../src/files/suppressions-file.ts";
import { encoded } from "../../src/report/sarif-parts.ts";
import { pathMatcher, staticPrefix } from "../../src/settings/glob.ts";
import { displayPath, pathBelow, withSlashes } from "../../src/settings/paths.ts";

const here = "C:\\work\\repo";

describe("on Windows", () => {
  test.each([
    ["models\\a.onnx", "models/a.onnx"],
    ["C:\\work\\repo\\models\\a.onnx", "models/a.onnx"],
    ["c:\\WORK\\repo\\a.onnx", "a.onnx"],
    [".\\models\\..\\a.onnx", "a.onnx"],
    ["..\\a.onnx", "../a.onnx"],
    ["D:\\a.onnx", "D:/a.onnx"],
    ["\\\\server\\share\\a.onnx", "//server/share/a.onnx"],
    ["..b\\a.onnx", "..b/a.onnx"],
  ])("%s is shown as %s", (path, shown) => {
    expect(displayPath(path, here, win32)).toBe(shown);
  });

  test("patterns of a configuration are held against paths with /", () => {
    const below = pathBelow(here, "C:\\work\\repo\\models\\old\\a.onnx", win32);
    expect(below).toBe("models/old/a.onnx");
    for (const pattern of ["models/", "models/**/*.onnx", "*.onnx", "./models/old/a.onnx"])
      expect(pathMatcher(pattern)(below), pattern).toBe(true);
  });

  test("patterns of the command line may have either separator", () => {
    for (const given of ["models\\**\\*.onnx", "models/**/*.onnx", "models/**\\a.onnx"]) {
      const pattern = withSlashes(given, win32);
      const root = staticPrefix(pattern);
      expect(root).toBe("models");
      const matches = patternMatcher(pattern, root, win32);
      expect(matches("models\\old\\a.onnx"), given).toBe(true);
      expect(matches("models\\old\\a.bin"), given).toBe(false);
    }
  });

  test("suppressions name models with /, on another disk by the whole path", () => {
    const file = "C:\\work\\repo\\tc-lint-suppressions.json";
    expect(suppressedPath(file, "C:\\work\\repo\\models\\a.onnx", win32)).toBe("models/a.onnx");
    expect(suppressedPath(file, "C:\\work\\a.onnx", win32)).toBe("../a.onnx");
    expect(suppressedPath(file, "D:\\a.onnx", win32)).toBe("D:/a.onnx");
  });

  test("a drive is part of a file URI, not its scheme", () => {
    expect(encoded("C:/my models/a.onnx")).toBe("file:///C:/my%20models/a.onnx");
    expect(encoded("models/a:b.onnx")).toBe("models/a%3Ab.onnx");
  });
});

describe("elsewhere", () => {
  test("a backslash is a character of a name, and of a pattern", () => {
    expect(displayPath("models/a\\b.onnx", "/repo", posix)).toBe("models/a\\b.onnx");
    expect(withSlashes("models/\\*.onnx", posix)).toBe("models/\\*.onnx");
    expect(patternMatcher("models/\\*.onnx", "models", posix)("models/*.onnx")).toBe(true);
    expect(encoded("/tmp/a.onnx")).toBe("file:///tmp/a.onnx");
  });
});
