"""The disk of a real server is full: pushes say so, pulls go on, nothing acknowledged is lost, and once there is room all goes on by itself."""
import os
import subprocess

import harness
from harness import Case

MAY_NOT_MOUNT = 77


class FullDiskTest(Case):
    def drill(self, durability):
        os.mkdir(self.path("work"))
        command = [harness.program("push_load"), "--mode", "full-disk", "--folder", self.path("work"), "--durability", durability]
        print(" ".join(command), flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        text = done.stdout.decode(errors="replace")
        if done.returncode == MAY_NOT_MOUNT:
            self.skipTest(text.strip())
        self.assertEqual(done.returncode, 0, text[-6000:])
        print(text, end="", flush=True)

    def test_a_full_disk_refuses_pushes_and_goes_on_when_there_is_room(self):
        self.drill("process")

    def test_so_it_is_where_pushes_reach_the_disk(self):
        self.drill("power")


if __name__ == "__main__":
    harness.main()
