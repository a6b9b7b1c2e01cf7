/** What this browser remembers: theme, density, zone of times, single-letter keys. */
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { ui, useMe } from "../../api/session.ts";
import { zoneLabels, zones } from "../../lib/time.ts";
import { densities, density, letterKeys, theme, themes, zone } from "../../state/settings.ts";
import { Field } from "../../ui/Field.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Time } from "../../ui/Time.tsx";

export function Settings(): JSX.Element {
  const me = useMe();
  return (
    <>
      <PageHead title="Settings" note="Kept in this browser" />
      <Panel title="How pages look">
        <div class="fields">
          <Choice label="Theme" id="theme" setting={theme} values={themes} />
          <Choice label="Density" id="density" setting={density} values={densities} />
          <Choice label="Times" id="zone" setting={zone} values={zones} names={zoneLabels} />
          <Choice
            label="Single-letter keys"
            id="letters"
            setting={letterKeys}
            values={["on", "off"]}
            hint="Switch them off if you dictate: each spoken letter would be a command."
          />
        </div>
      </Panel>
      <Panel title="Who you are">
        <Facts
          facts={[
            ["Role", me.role],
            ["Name", me.name ?? "–"],
            ["Tenant", me.tenant_label ?? me.tenant_id ?? "All tenants"],
            ["Expires", me.expires_at === null ? "never" : <Time key="expires" at={me.expires_at} />],
            ["Server", `JobForge ${ui.version}`],
          ]}
        />
      </Panel>
    </>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly id: string;
  readonly setting: Signal<T>;
  readonly values: readonly T[];
  readonly names?: Readonly<Record<T, string>>;
  readonly hint?: string;
}

function Choice<T extends string>(props: ChoiceProps<T>): JSX.Element {
  const { label, id, setting, values, names, hint } = props;
  const choose = (value: string): void => {
    const found = values.find((each) => each === value);
    if (found !== undefined) setting.value = found;
  };
  return (
    <Field label={label} id={id} {...(hint === undefined ? {} : { hint })}>
      <select id={id} value={setting.value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {values.map((value) => (
          <option key={value} value={value}>
            {names?.[value] ?? value}
          </option>
        ))}
      </select>
    </Field>
  );
}
