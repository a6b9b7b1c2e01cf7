/** Texts that are cut to 300 characters before they are masked. The kernel and the SDK cut them in the same way. */
export interface CutCase {
  readonly name: string;
  readonly text: string;
  readonly cut: string;
}

export const cutLength = 300;

const x = (count: number): string => "x".repeat(count);

export const cutCases: readonly CutCase[] = [
  { name: "a text that fits", text: x(300), cut: x(300) },
  { name: "a split word", text: `${x(280)} ${x(40)}`, cut: `${x(280)} ` },
  { name: "a split word after a quote", text: `${x(280)}"${x(40)}`, cut: `${x(280)}"` },
  { name: "words that end at the cut", text: `${x(299)} ${x(40)}`, cut: `${x(299)} ` },
  { name: "a text without blanks", text: x(400), cut: x(100) },
  {
    name: "an address with a password",
    text: `${x(270)} postgres://u:secret-password@db`,
    cut: `${x(270)} `,
  },
  {
    name: "an address with a very long password",
    text: `at postgres://u:${"secret".repeat(60)}@db`,
    cut: "at postgres://",
  },
  { name: "characters outside of the basic plane", text: "😀".repeat(400), cut: "😀".repeat(100) },
];
