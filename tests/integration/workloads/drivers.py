"""One cluster, and scripts that join it one after the other: ``drivers.py TEMP_DIR SCRIPT...``."""

import json
import subprocess
import sys

import ray

context = ray.init(num_cpus=4, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
for script in sys.argv[2:]:
    joining = json.dumps({"address": context.address_info["address"]})
    subprocess.run([sys.executable, script, joining], check=True)
