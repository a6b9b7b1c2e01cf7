import type { JSX } from "preact";
import { useMay } from "../api/session.ts";
import { letterKeys } from "../state/settings.ts";
import { Dialog } from "../ui/Dialog.tsx";
import css from "./Help.module.css";
import { pagesFor } from "./pages.ts";

const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["Ctrl K", "Palette: pages, jobs, types, actions"],
      ["/", "Filter"],
      ["p", "Pause and resume live updates"],
      ["t", "Theme"],
      ["z", "Relative, local and UTC times"],
      ["?", "This help"],
    ],
  ],
  [
    "Lists",
    [
      ["j  k", "Next and previous row"],
      ["Enter", "Open the row"],
      ["x", "Select the row"],
      ["Shift x", "Select up to the row"],
      ["a", "Select all that match"],
      ["Esc", "Clear the selection"],
    ],
  ],
  [
    "A job",
    [
      ["r", "Run now"],
      ["c", "Cancel"],
      ["e", "Edit"],
      ["y", "Copy the id"],
      ["[  ]", "Previous and next job of the list"],
    ],
  ],
];

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const available = pagesFor(useMay());
  const pages = ["Pages", available.map(({ key, name }) => [`g ${key}`, name] as const)] as const;
  return (
    <Dialog title="Keys" wide onClose={onClose}>
      {letterKeys.value === "off" && <p>Single-letter keys are off. Settings switches them on.</p>}
      <div class={css["groups"]}>
        {[...groups, pages].map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    {key
                      .split(" ")
                      .filter(Boolean)
                      .map((each) => (
                        <kbd key={each}>{each}</kbd>
                      ))}
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
