import * as vscode from 'vscode';

/** The editor's own settings with their defaults; package.json says the same, which a test checks. */
export const SETTINGS = {
  home: '',
  'agent.command': '',
  resumeCommand: '',
  'notifications.crash': true,
  'notifications.humanNeeded': true,
  'notifications.validationFailed': true,
  'notifications.inboxAnswered': true,
  'statusBar.enabled': true,
  'codeLens.enabled': true,
} as const;

/** The name of a setting, without the prefix `atlas.`. */
export type SettingName = keyof typeof SETTINGS;

type Widen<T> = T extends string ? string : T extends boolean ? boolean : T;

/** The value of a setting; a value of another type counts as not set. */
export function setting<K extends SettingName>(name: K): Widen<(typeof SETTINGS)[K]> {
  const fallback: unknown = SETTINGS[name];
  const value: unknown = vscode.workspace.getConfiguration('atlas').get(name);
  return (typeof value === typeof fallback ? value : fallback) as Widen<(typeof SETTINGS)[K]>;
}

/** Whether a change touches one of our settings. */
export function affects(event: vscode.ConfigurationChangeEvent, name: SettingName): boolean {
  return event.affectsConfiguration(`atlas.${name}`);
}
