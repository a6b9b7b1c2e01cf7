/** A change that says what it did, or why it was refused, and reads again what the pages show. */
import { useMutation, useQueryClient } from "@tanstack/preact-query";
import { say, sayProblem } from "./Toasts.tsx";

interface Change<Input, Result> {
  readonly run: (input: Input) => Promise<Result>;
  readonly done: (input: Input, result: Result) => string;
  /** Takes the change back, where the kernel can. */
  readonly undo?: (input: Input) => Promise<unknown>;
  /** What is said after that. Default: everything is as it was. */
  readonly undone?: (input: Input) => string;
  readonly after?: () => void;
}

interface Changing<Input> {
  readonly isPending: boolean;
  readonly mutate: (input: Input) => void;
}

export function useChange<Input = void, Result = unknown>({
  run,
  done,
  undo,
  undone = () => "It is as it was before",
  after,
}: Change<Input, Result>): Changing<Input> {
  const client = useQueryClient();
  const takeBack = async (input: Input): Promise<void> => {
    try {
      await undo?.(input);
      say(undone(input));
    } catch (error) {
      sayProblem(error);
    }
    await client.invalidateQueries();
  };
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: (result, input) => {
      const offer = { label: "Undo", run: () => void takeBack(input) };
      say(done(input, result), undo === undefined ? undefined : offer);
      after?.();
    },
    onError: sayProblem,
    onSettled: () => client.invalidateQueries(),
  });
  return { isPending: mutation.isPending, mutate: (input) => mutation.mutate(input) };
}
