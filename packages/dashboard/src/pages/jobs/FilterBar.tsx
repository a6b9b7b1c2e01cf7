/** The filter bar: `type:mail.send tag:urgent "connection refused"`. Suggests names and values. */
import type { JSX, RefObject } from "preact";
import { useId, useState } from "preact/hooks";
import { useKnownTypes } from "../../api/types.ts";
import {
  isId,
  type JobFilter,
  states,
  type Term,
  termNames,
  termsIn,
  termsOf,
  withoutTerm,
  withTerm,
} from "../../lib/filter.ts";
import { shortId } from "../../lib/format.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { chooseTenant, navigate } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Icon } from "../../ui/Icon.tsx";
import css from "./FilterBar.module.css";

interface FilterBarProps {
  readonly filter: JobFilter;
  readonly onChange: (filter: JobFilter) => void;
  readonly field: RefObject<HTMLInputElement>;
}

export function FilterBar({ filter, onChange, field }: FilterBarProps): JSX.Element {
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(-1);
  const list = useId();
  const suggestions = useSuggestions(typed);
  const isOpen = suggestions.length > 0;
  const apply = (input: string): void => {
    if (isId(input)) {
      navigate(`/jobs/${input.trim()}`);
      return;
    }
    const terms = termsOf(input);
    const tenant = terms.find(({ name }) => name === "tenant")?.value;
    setTyped("");
    setActive(-1);
    if (tenant !== undefined) chooseTenant(tenant);
    if (terms.some(({ name }) => name !== "tenant")) onChange(terms.reduce(withTerm, filter));
  };
  const take = (suggestion: string): void => {
    setActive(-1);
    if (/[:.]$/.test(suggestion)) setTyped(suggestion);
    else apply(suggestion);
    field.current?.focus();
  };
  const keys = (event: JSX.TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && isOpen) {
      event.preventDefault();
      setActive((active + step + suggestions.length) % suggestions.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const suggestion = suggestions[active];
      // What the field says, also if the last letter is not drawn yet.
      if (suggestion === undefined) apply(event.currentTarget.value);
      else take(suggestion);
    } else if (event.key === "Escape") {
      if (typed === "") field.current?.blur();
      setTyped("");
      setActive(-1);
    } else if (event.key === "Backspace" && typed === "") {
      const last = termsIn(filter).at(-1);
      if (last !== undefined) onChange(withoutTerm(filter, last));
    }
  };
  return (
    <search class={css["bar"]}>
      <Icon name="search" />
      {termsIn(filter).map((term) => (
        <Chip
          key={`${term.name}:${term.value}`}
          term={term}
          onRemove={() => onChange(withoutTerm(filter, term))}
        />
      ))}
      <span class={css["box"]}>
        <input
          ref={field}
          type="text"
          role="combobox"
          aria-label="Filter jobs"
          aria-expanded={isOpen}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={active === -1 ? undefined : `${list}-${active}`}
          autocomplete="off"
          spellcheck={false}
          placeholder="type:  tag:  subject:  error:  payload.key:  or an id"
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setActive(-1);
          }}
          onKeyDown={keys}
        />
        <div id={list} role="listbox" aria-label="Suggestions" class={css["suggestions"]} hidden={!isOpen}>
          {suggestions.map((each, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
            <div
              key={each}
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === active}
              onMouseDown={(event) => {
                event.preventDefault();
                take(each);
              }}
            >
              {each}
            </div>
          ))}
        </div>
      </span>
      {typed !== "" && <Button onClick={() => apply(typed)}>Apply</Button>}
    </search>
  );
}

export function Chip({ term, onRemove }: { term: Term; onRemove: () => void }): JSX.Element {
  const shown = term.name === "group" || isId(term.value) ? shortId(term.value) : term.value;
  return (
    <span class={css["chip"]} title={term.value}>
      <b>{term.name}</b> {shown}
      <button type="button" aria-label={`Remove ${term.name} ${term.value}`} onClick={onRemove}>
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

const mostSuggestions = 8;

/** Names while a name is typed; values of types, states and tenants after their name. */
function useSuggestions(typed: string): readonly string[] {
  const word = typed.slice(typed.lastIndexOf(" ") + 1);
  const [, name = "", value = ""] = /^([a-z_]+):(.*)$/.exec(word) ?? [];
  const { data: types } = useKnownTypes(name === "type");
  const { data: tenants } = useTenants();
  if (word === "") return [];
  const known: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    type: (types?.items ?? []).map(({ type }) => [type, type]),
    status: states.map((state) => [state, state]),
    phase: ["due", "scheduled", "retrying"].map((phase) => [phase, phase]),
    tenant: (tenants?.items ?? []).map((tenant) => [tenantName(tenant), tenant.tenant_id]),
  };
  const before = typed.slice(0, typed.length - word.length);
  const found =
    name === ""
      ? termNames
          .filter((each) => each.startsWith(word))
          .map((each) => `${before}${each}${each === "payload" ? "." : ":"}`)
      : (known[name] ?? [])
          .filter(([label]) => label.toLowerCase().includes(value.toLowerCase()))
          .map(([, id]) => `${before}${name}:${id}`);
  return found.slice(0, mostSuggestions);
}
