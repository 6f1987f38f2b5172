"""Ray's own microbenchmark, without its Ray Client part.

That part starts clusters from gRPC's threads, which Ray itself does not survive each time: some 1 of 25 starts
ends with "The current node timed out during startup", without Rayscope too.
"""

from ray._private import ray_perf

if __name__ == "__main__":
    ray_perf.client_microbenchmark_main = lambda results: results
    ray_perf.main()
