"""What clusterscope finds of a cluster, and of the tasks of a step."""

import subprocess
import sys

from clusterscope.cluster_info import UnifiedInfo
from clusterscope.job_info import JobInfo
from clusterscope.slurm.partition import get_partition_info

if "task" in sys.argv:
    job = JobInfo()
    print(job.get_global_rank(), job.get_local_rank(), job.get_world_size(), job.get_master_addr())
    sys.exit()

info = UnifiedInfo()
print(*sorted((one.partition, one.cpu_count) for one in info.get_cpus_per_node()))
print(*sorted((one.partition, one.mem_total_MB) for one in info.get_mem_per_node_MB()))
print(*sorted((one.partition, one.gpu_gen, one.gpu_count) for one in info.get_gpu_generation_and_count()))
print(*sorted((one.name, one.max_cpus_per_node, one.max_gpus_per_node) for one in get_partition_info()))
print(info.has_gpu_type("A100"), info.has_gpu_type("H100"))
need = UnifiedInfo(partition="gpu").get_task_resource_requirements(
    partition="gpu", gpus_per_task=1, tasks_per_node=2, nodes=2
)
print(need.to_srun())
subprocess.run(["srun", *need.to_srun().split(), sys.executable, __file__, "task"], check=True)
