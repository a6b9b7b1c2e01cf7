/** When a schedule runs next, in its own zone. A change of the clocks between two runs is marked. */
import type { JSX } from "preact";
import { runsOf } from "../../lib/runs.ts";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

export function NextRuns({ times, zone }: { times: readonly string[]; zone: string }): JSX.Element {
  return (
    <Table
      caption="The next runs"
      rows={runsOf(times, zone)}
      keyOf={({ at }) => at}
      columns={[
        { title: `In ${zone}`, cell: ({ own }) => own },
        { title: "For you", kind: "short", cell: ({ at }) => <Time at={at} /> },
        { title: "Note", cell: ({ note }) => note },
      ]}
    />
  );
}
