/** Questions before a run is changed. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { nameOf } from "./glance";
import { changeRun, deleteRun, type RunFacts, reasonOf, type Trashed } from "./server";

interface QuestionProps {
  title: string;
  deed: string;
  act: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

/** A question over the page; it closes when the answer is done, and shows why it is not. */
function Question({ title, deed, act, onClose, children }: QuestionProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await act();
      onClose();
    } catch (error) {
      setFailed(reasonOf(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class="question" aria-label={title} onClose={onClose}>
      <form onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        {failed ? <p class="failed">{failed}</p> : null}
        <div class="answers">
          <button type="button" onClick={onClose}>
            cancel
          </button>
          <button type="submit" class="primary" disabled={busy}>
            {deed}
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface Props<T> {
  run: RunFacts;
  onDone: (changed: T) => void;
  onClose: () => void;
}

export function Rename({ run, onDone, onClose }: Props<RunFacts>) {
  const last = run.folder.split("/").at(-1) ?? "";
  const [title, setTitle] = useState(run.title);
  const [folder, setFolder] = useState(last);
  const act = async () => {
    const changes = {
      ...(title.trim() !== run.title ? { title: title.trim() } : {}),
      ...(folder.trim() && folder.trim() !== last ? { folder: folder.trim() } : {}),
    };
    if (Object.keys(changes).length) onDone(await changeRun(run.id, changes));
  };
  return (
    <Question title={`Rename ${nameOf(run)}`} deed="rename" act={act} onClose={onClose}>
      <label>
        title <input value={title} maxLength={300} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
      <label>
        folder <input value={folder} maxLength={200} onInput={(event) => setFolder(event.currentTarget.value)} />
      </label>
    </Question>
  );
}

export function Delete({ run, onDone, onClose }: Props<Trashed>) {
  return (
    <Question
      title={`Delete ${nameOf(run)}?`}
      deed="delete"
      act={async () => onDone(await deleteRun(run.id))}
      onClose={onClose}
    >
      <p>
        The folder <b>{run.folder}</b> goes into the trash. It can be brought back until the trash is emptied.
      </p>
    </Question>
  );
}
