/** Keys of the whole page. A page adds its own while it is open; the newest one wins. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { letterKeys } from "../state/settings.ts";

/** By key as the browser names it; `g j` is `g`, then `j`. After false, the browser does what it does with the key. */
export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => unknown>>;

const maps: { current: KeyMap }[] = [];
let before = "";
let forget: ReturnType<typeof setTimeout> | undefined;
/** How long `g` waits for its second key. */
const sequenceMs = 1200;

export function useKeys(map: KeyMap): void {
  const held = useRef(map);
  held.current = map;
  // Before the page is painted: who sees it may press a key at once.
  useLayoutEffect(() => {
    maps.push(held);
    return () => {
      maps.splice(maps.indexOf(held), 1);
    };
  }, []);
}

/** Starts to listen. Returns how to stop. */
export function listenToKeys(): () => void {
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

function pressed(event: KeyboardEvent): void {
  const command = (event.metaKey || event.ctrlKey) && !event.altKey;
  if (command && event.key.toLowerCase() === "k") {
    act("mod+k", event);
    return;
  }
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  if (isField(event.target) || document.querySelector("dialog[open]") !== null) return;
  const isLetter = event.key.length === 1;
  if (isLetter && letterKeys.value === "off") return;
  const sequence = before === "" ? event.key : `${before} ${event.key}`;
  clearTimeout(forget);
  before = "";
  if (event.key === "g" && sequence === "g") {
    before = "g";
    forget = setTimeout(() => {
      before = "";
    }, sequenceMs);
    return;
  }
  act(event.shiftKey && /^[a-z]$/i.test(event.key) ? `shift+${event.key.toLowerCase()}` : sequence, event);
}

function act(key: string, event: KeyboardEvent): void {
  const found = maps.findLast(({ current }) => current[key] !== undefined);
  if (found === undefined) return;
  // Enter and the arrows keep their own meaning on buttons, links and summaries.
  if (isControl(event.target) && ["Enter", " "].includes(event.key)) return;
  if (found.current[key]?.(event) !== false) event.preventDefault();
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  );
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, summary") !== null;
}
