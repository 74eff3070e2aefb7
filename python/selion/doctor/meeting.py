# SPDX-License-Identifier: Apache-2.0
"""What `selion doctor --fabric -n N` starts: ranks that meet, and end."""

import selion


def meet(world: selion.World) -> None:
    world.barrier()


if __name__ == "__main__":
    selion.run(meet)
