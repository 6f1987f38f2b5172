import { useMutation } from '@tanstack/react-query';
import { post } from '../../api/client';
import type { Filters } from '../../base/url';
import type { Frames } from './frames';

export interface WantedFrames {
  /** A node of the stack, and what is below it; all of the stack without. */
  node?: string;
  /** Also Ray's own frames, and idle threads. */
  whole: boolean;
}

/** Takes the Python frames of what runs now, when it is told to. */
export function useFrames(session: string, filters: Filters) {
  return useMutation<Frames, Error, WantedFrames>({
    mutationFn: (wanted) => post<Frames>('/flow/stack/frames', { session, ...wanted }, filters),
  });
}
