import { lazy } from '../core/shared/lazy';
import type { Atlas } from './atlas';
import { AtlasReader } from './atlasReader';
import type { ServicePorts } from './ports';

/** Atlas on a store: what reads is there at once, what changes tasks is loaded when it is first needed. */
export interface OpenAtlas extends AtlasReader {
  /** The use cases that change tasks. */
  readonly drive: () => Promise<Atlas>;
}

/** Composes Atlas for a store. */
export function createAtlas(ports: ServicePorts): OpenAtlas {
  const reader: AtlasReader = new AtlasReader(ports, async () => (await drive()).store);
  const drive = lazy(async () => (await import('./driving')).drivingAtlas(ports, reader));
  return Object.assign(reader, { drive });
}
