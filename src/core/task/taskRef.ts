/** Names a task in the store. */
export interface TaskRef {
  readonly workspace: string;
  readonly id: string;
}

/** A task's name as one text, `<workspace>/<id>`; also the key of maps. */
export function refKey(ref: TaskRef): string {
  return `${ref.workspace}/${ref.id}`;
}
