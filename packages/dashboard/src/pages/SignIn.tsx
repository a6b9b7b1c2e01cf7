/** Sign-in: a key or token becomes a cookie that scripts cannot read. The page keeps it nowhere. */
import { useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, bodyOf } from "../api/client.ts";
import { problemFrom } from "../api/problem.ts";
import { meKey, ui } from "../api/session.ts";
import { Mark } from "../shell/Shell.tsx";
import { Button } from "../ui/Button.tsx";
import css from "./SignIn.module.css";

export function SignIn(): JSX.Element {
  const client = useQueryClient();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // Before the page is painted: who sees the field may write into it at once.
  useLayoutEffect(() => {
    document.title = `Sign in · ${ui.title}`;
    field.current?.focus();
  }, []);
  const submit = async (): Promise<void> => {
    const token = field.current?.value.trim() ?? "";
    if (token === "") return setProblem("Paste a key or a token first.");
    setBusy(true);
    try {
      const me = await bodyOf(api.POST("/v1/session", { body: { token } }));
      client.setQueryData(meKey, me);
    } catch (error) {
      const { message, hint } = problemFrom(error);
      const sentences = [message, hint].filter((each) => each !== undefined && each !== "");
      setProblem(sentences.map((each) => each?.replace(/[.]?$/, ".")).join(" "));
      setBusy(false);
      field.current?.select();
    }
  };
  return (
    <main class={css["page"]}>
      <form
        class={css["card"]}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1>
          <Mark /> {ui.title}
          {ui.environment !== null && <small>{ui.environment}</small>}
        </h1>
        {!ui.signs_in ? (
          <p>
            Open the address that <code>jobforge dev</code> printed. It makes a new token at each start.
          </p>
        ) : (
          <>
            <p>
              Paste a key or a JWT. What it allows decides which pages you see: an operator sees all tenants,
              a key of a tenant sees that tenant only.
            </p>
            <label for={id}>Key or token</label>
            <input
              ref={field}
              id={id}
              type="password"
              autocomplete="current-password"
              spellcheck={false}
              aria-invalid={problem !== undefined}
              aria-describedby={`${id}-problem`}
            />
            <p id={`${id}-problem`} class={css["problem"]} role="alert">
              {problem}
            </p>
            <Button type="submit" kind="primary" busy={isBusy}>
              Sign in
            </Button>
            <p class={css["hint"]}>
              No key yet? An operator makes one:{" "}
              <code>jobforge token create NAME --role jobforge_operator</code>
            </p>
          </>
        )}
      </form>
    </main>
  );
}
