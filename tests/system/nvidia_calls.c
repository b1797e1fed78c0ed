// SPDX-License-Identifier: MIT
/*
 * Makes calls as a program of NVIDIA's does, on files that bear the nodes'
 * names. A seccomp filter of its own answers the ioctls with 0; what a driver
 * would have written is in the arguments already. Waits for a tracer first.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UVM_INITIALIZE 0x30000001u
#define FRONTEND(nr, size) ((3u << 30) | ((unsigned)(size) << 16) | ('F' << 8) | (nr))

static int traced(void)
{
	char line[256];
	int tracer = 0;
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (status)
		fclose(status);
	return tracer;
}

static int answer_ioctls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UVM_INITIALIZE, 2, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'F' << 8, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int control(int fd, uint32_t cmd, uint32_t status, int transfer)
{
	uint32_t words[8] = { 0xc1d00001, 0x5c000002, cmd };
	struct {
		uint32_t cmd, size;
		uint64_t address;
	} outer = { 0x2a, sizeof(words), (uintptr_t)words };

	words[7] = status;
	return transfer ? ioctl(fd, FRONTEND(0xd3, sizeof(outer)), &outer)
			: ioctl(fd, FRONTEND(0x2a, sizeof(words)), words);
}

static int alloc(int fd, uint32_t new, uint32_t class, uint64_t params)
{
	uint32_t words[12] = { 0xc1d00001, 0x5c000001, new, class };

	memcpy(&words[4], &params, sizeof(params));
	return ioctl(fd, FRONTEND(0x2b, sizeof(words)), words);
}

static int map_doorbell(int fd)
{
	uint32_t words[14] = { 0xc1d00001, 0x5c000001, 0x5c000010 };
	int other = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	words[12] = other;
	if (ioctl(fd, FRONTEND(0x4e, sizeof(words)), words))
		return -1;
	return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0) == MAP_FAILED;
}

int main(void)
{
	static uint32_t channel[92], uvm[4] = { [2] = 0x16 };
	const struct timespec pause = { .tv_nsec = 1000000 };
	int fd, failed;

	for (int i = 0; i < 20000 && !traced(); i++)
		nanosleep(&pause, NULL);
	if (answer_ioctls())
		return 4;
	channel[4] = 1024;
	fd = open("/dev/nvidiactl", O_RDWR);
	failed = alloc(fd, 0xc1d00001, 0x41, 0);
	failed |= control(fd, 0x20800110, 0x56, 0);
	failed |= control(fd, 0x20800110, 0x1f, 1);
	failed |= control(fd, 0x20801a7f, 0, 0);
	failed |= alloc(fd, 0x5c000020, 0xc86f, (uintptr_t)channel);
	failed |= alloc(fd, 0x5c000021, 0xc86f, 1);
	failed |= alloc(fd, 0x5c000010, 0xc661, 0);
	failed |= map_doorbell(fd);
	failed |= ioctl(open("/dev/nvidia-uvm", O_RDWR), UVM_INITIALIZE, uvm);
	return failed ? 1 : 0;
}
