import { useEffect, useState } from 'react';

/** The current time (ms), updated every second, so that ages grow even while no data arrives. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
