/** A change that says what it did, or why it was refused, and reads again what the pages show. */
import { useMutation, useQueryClient } from "@tanstack/preact-query";
import { say, sayProblem } from "./Toasts.tsx";

interface Change<Input> {
  readonly run: (input: Input) => Promise<unknown>;
  readonly done: (input: Input) => string;
  readonly after?: () => void;
}

interface Changing<Input> {
  readonly isPending: boolean;
  readonly mutate: (input: Input) => void;
}

export function useChange<Input = void>({ run, done, after }: Change<Input>): Changing<Input> {
  const client = useQueryClient();
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: (_, input) => {
      say(done(input));
      after?.();
    },
    onError: sayProblem,
    onSettled: () => client.invalidateQueries(),
  });
  return { isPending: mutation.isPending, mutate: (input) => mutation.mutate(input) };
}
