import { useMutation } from '@tanstack/react-query';
import { post } from '../../api/client';
import type { FramesAnswer } from '../../api/schema';
import { type Filters, taskFilters } from '../../base/url';

interface WantedFrames {
  /** The node of the stack to sample, with everything below it; by default, the whole stack. */
  node?: string;
  /** Include Ray's own frames and idle threads. */
  whole: boolean;
}

/** Samples the Python frames of the running tasks on request. */
export function useFrames(session: string, filters: Filters) {
  return useMutation<FramesAnswer, Error, WantedFrames>({
    mutationFn: (wanted) =>
      post<FramesAnswer>('/flow/stack/frames', { session, ...wanted }, taskFilters(filters)),
  });
}
