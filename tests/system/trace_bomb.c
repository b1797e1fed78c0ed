// SPDX-License-Identifier: MIT
// Forks COUNT children at once; each makes 3 ioctls on the shared descriptor and exits with its number.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 50;
	int fd = open("/dev/null", O_RDWR);
	int sum = 0, status;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 2;
		if (!pid) {
			for (int n = 0; n < 3; n++)
				ioctl(fd, 0x1800 + n, i);
			_exit(i);
		}
	}
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	return sum == count * (count - 1) / 2 ? 0 : 1;
}
