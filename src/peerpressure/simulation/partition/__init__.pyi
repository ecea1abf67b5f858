from ._files import write_partition as write_partition
from ._model import PartitionedModel as PartitionedModel
from ._network import PartitionedNetwork as PartitionedNetwork
from ._result import PartTrajectory as PartTrajectory
