/**
 * Scenarios: lists of steps, drawn so that each has its own mixture of kinds. Shrinking first leaves out steps (halves,
 * quarters, single steps, from the end) and then makes the others simpler. The shrunk scenarios depend only on the
 * scenario, not on its result, so that fast-check's path leads to the same scenario again.
 */
import * as fc from "fast-check";
import { type Drawing, drawings, type Step } from "./steps.ts";

/** How many tenants, types and priorities a scenario has. With few of them, many jobs meet in one lane. */
export interface Breadth {
  readonly tenants: number;
  readonly types: number;
  readonly hasPriorities: boolean;
}

/** One list of steps to play. */
export class Scenario {
  readonly steps: readonly Step[];
  readonly breadth: Breadth;

  constructor(steps: readonly Step[], breadth: Breadth) {
    this.steps = steps;
    this.breadth = breadth;
  }

  /** Returns the text that fast-check shows where our own report is not used. */
  toString(): string {
    return `${this.steps.length} steps: ${this.steps.map((step) => step.kind).join(", ")}`;
  }
}

/** A step as it was drawn, so that it can be simplified. */
interface Piece {
  readonly drawing: Drawing;
  readonly drawn: fc.Value<Step>;
}

/** The progress of shrinking: leaves out `size` steps at a time before `until`, or simplifies from `simplify` on. */
interface Progress {
  readonly breadth: Breadth;
  readonly pieces: readonly Piece[];
  readonly size: number;
  readonly until: number;
  readonly simplify: number;
}

/** How much more or less often than usual a kind occurs in a scenario. */
const temper = [0, 1, 1, 1, 4] as const;
/** The kinds that every scenario needs. */
const essential: readonly string[] = ["enqueue", "enqueueMany", "claim", "settle", "travel"];

class Scenarios extends fc.Arbitrary<Scenario> {
  readonly #longest: number;

  constructor(longest: number) {
    super();
    this.#longest = longest;
  }

  override generate(random: fc.Random): fc.Value<Scenario> {
    const length = random.nextInt(Math.ceil(this.#longest / 3), this.#longest);
    const mixture = drawings.flatMap((drawing) => {
      const times = temper[random.nextInt(0, temper.length - 1)] ?? 1;
      const least = essential.includes(drawing.kind) ? 1 : 0;
      return Array.from({ length: drawing.weight * Math.max(times, least) }, () => drawing);
    });
    const pieces = Array.from({ length }, () => drawPiece(random, mixture));
    const breadth = {
      tenants: random.nextInt(1, 3),
      types: random.nextInt(1, 3),
      hasPriorities: random.nextInt(0, 2) > 0,
    };
    const size = Math.ceil(pieces.length / 2);
    return scenarioOf({ breadth, pieces, size, until: pieces.length, simplify: 0 });
  }

  override canShrinkWithoutContext(value: unknown): value is Scenario {
    return value instanceof Scenario && false;
  }

  override shrink(_: Scenario, context: unknown): fc.Stream<fc.Value<Scenario>> {
    return fc.stream(shorter(context as Progress));
  }
}

function drawPiece(random: fc.Random, mixture: readonly Drawing[]): Piece {
  const drawing = mixture[random.nextInt(0, mixture.length - 1)];
  if (drawing === undefined) throw new Error("no kind of step to draw");
  return { drawing, drawn: drawing.step.generate(random, undefined) };
}

function scenarioOf(progress: Progress): fc.Value<Scenario> {
  const steps = progress.pieces.map((piece) => piece.drawn.value);
  return new fc.Value(new Scenario(steps, progress.breadth), progress);
}

function* shorter(progress: Progress): IterableIterator<fc.Value<Scenario>> {
  const { breadth, pieces } = progress;
  let { until } = progress;
  for (let size = progress.size; size >= 1; size = Math.floor(size / 2)) {
    for (; until > 0; until -= size) {
      const rest = [...pieces.slice(0, Math.max(0, until - size)), ...pieces.slice(until)];
      yield scenarioOf({ breadth, pieces: rest, size, until: Math.max(0, until - size), simplify: 0 });
    }
    until = pieces.length;
  }
  for (let index = progress.simplify; index < pieces.length; index += 1) {
    const piece = pieces[index];
    if (piece === undefined) continue;
    for (const drawn of piece.drawing.step.shrink(piece.drawn.value, piece.drawn.context)) {
      const simpler = pieces.map((other, place) => (place === index ? { ...piece, drawn } : other));
      yield scenarioOf({ breadth, pieces: simpler, size: 0, until: 0, simplify: index });
    }
  }
}

/** Returns an arbitrary for scenarios of up to `longest` steps. */
export function scenarios(longest: number): fc.Arbitrary<Scenario> {
  return new Scenarios(longest);
}
