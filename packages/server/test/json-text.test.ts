/** Parts of JSON as they were written. */
import { expect, test } from "vitest";
import { elementsOf, mayRound, memberOf, withTexts } from "../src/json-text.ts";

test.for([
  [`{"a":1}`, "1"],
  [`{"a": 9007199254740993 , "b": 2}`, " 9007199254740993 "],
  [`{"b": {"a": 1}, "a": [1, {"a": 2}]}`, ' [1, {"a": 2}]'],
  [`{"a": "}, \\"a\\": 3", "c": "\\\\"}`, ` "}, \\"a\\": 3"`],
  [`{"a": 1, "a": 2}`, " 2"],
  [`{"\\u0061": 1.50}`, " 1.50"],
  [`{"b": "a", "c": ["a", 1]}`, undefined],
  ["{}", undefined],
] as const)("the member a of %s", ([json, text]) => {
  expect(memberOf(json, "a")?.text).toBe(text);
  expect(text === undefined ? undefined : JSON.parse(text)).toEqual(JSON.parse(json).a);
});

test("an object keeps the digits of the named members", () => {
  const json = `{"payload": {"n": 12345678901234567890}, "priority": 1}`;
  expect(withTexts(JSON.parse(json), json, ["payload"]).text).toBe(
    `{"payload": {"n": 12345678901234567890},"priority":1}`,
  );
  expect(withTexts({ b: 1, c: undefined }, "{}", ["b"]).text).toBe(`{"b":1}`);
});

test.for([
  ["[]", []],
  ["[ ]", []],
  ['[1.50, {"a": [2, "]"]}, "x,y"]', ["1.50", ' {"a": [2, "]"]}', ' "x,y"']],
] as const)("the elements of %s", ([json, texts]) => {
  expect(elementsOf(json)).toEqual(texts);
});

test("only numbers with many digits or an exponent may be rounded", () => {
  for (const json of ["9007199254740993", "0.12345678901234567", "1e400", "1E5", "123456789012345.6"])
    expect([json, mayRound(json)]).toEqual([json, true]);
  for (const json of ["900719925474099", "0.1", '{"a": "text 12", "b": -1}'])
    expect([json, mayRound(json)]).toEqual([json, false]);
});
