// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The command line of fakegpud and fakegpu-run: one program, two names.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_CHARS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"
#define MIB (1024ULL * 1024)

struct fgpu_options options = {
	.devices = 1,
	.vram = 1024 * MIB,
	.quota = 256 * MIB,
	.version = FGPU_DEFAULT_VERSION,
	.lifeline_fd = -1,
	.witness_fd = -1,
	.ready_fd = -1,
	.hold_fd = -1,
	.pid_fd = -1,
	.filter_fd = -1,
};

static const char *self = "fakegpud";
static const char *own_option; /* one given that makes sense for a new device only */

static const char usage[] =
	"usage: fakegpu-run [OPTIONS] [--] COMMAND [ARGS...]   run COMMAND on an embedded GPU\n"
	"       fakegpud [OPTIONS]                             the device alone, until SIGTERM\n"
	"       fakegpud ctl [--name NAME] COMMAND             status | log | fault "
	"SPEC|list|clear | uvm on|off\n"
	"\n"
	"The device lives as long as this process. COMMAND runs with no new privileges: a\n"
	"set-user-ID program such as sudo gains none. When it ends, fakegpu-run ends with its\n"
	"status; what it left running can then open no file (ENOSYS), unless --wait-all.\n"
	"io_uring and 32-bit programs do not see the device.\n"
	"\n"
	"  --name NAME        of the control socket (default: this process's id)\n"
	"  --join NAME        use the running device NAME instead of a new one\n"
	"  --devices N        1 to 8 (default 1)\n"
	"  --vram MIB         memory of a device (default 1024)\n"
	"  --quota MIB        of it for one open file (default 256)\n"
	"  --version V        driver version (default " FGPU_DEFAULT_VERSION ")\n"
	"  --no-uvm           without /dev/fakegpu-uvm\n"
	"  --fault SPEC       arm a fault, as in kmod/SPEC.md (may be repeated)\n"
	"  --wait-all         end when the last descendant of COMMAND has ended\n"
	"\n"
	"for programs that start this one (N: an inherited descriptor):\n"
	"  --lifeline-fd N    end when N reads end-of-file\n"
	"  --witness-fd N     write what happens into this memory file (witness.h)\n"
	"  --ready-fd N       write a newline when the device is up\n"
	"  --pid-fd N         write the program's process id\n"
	"  --hold-fd N        start the program only after a byte or end-of-file\n"
	"  --filter-fd N      install these struct sock_filter in the program first\n"
	"\n"
	"exit status: COMMAND's; 125 no device, 126 can't be executed, 127 not found, 2 usage\n";

enum option_id {
	OPT_NAME = 1,
	OPT_JOIN,
	OPT_DEVICES,
	OPT_VRAM,
	OPT_QUOTA,
	OPT_VERSION,
	OPT_NO_UVM,
	OPT_FAULT,
	OPT_WAIT_ALL,
	OPT_LIFELINE,
	OPT_WITNESS,
	OPT_READY,
	OPT_PID,
	OPT_HOLD,
	OPT_FILTER,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"name", required_argument, NULL, OPT_NAME},
	{"join", required_argument, NULL, OPT_JOIN},
	{"devices", required_argument, NULL, OPT_DEVICES},
	{"vram", required_argument, NULL, OPT_VRAM},
	{"quota", required_argument, NULL, OPT_QUOTA},
	{"version", required_argument, NULL, OPT_VERSION},
	{"no-uvm", no_argument, NULL, OPT_NO_UVM},
	{"fault", required_argument, NULL, OPT_FAULT},
	{"wait-all", no_argument, NULL, OPT_WAIT_ALL},
	{"lifeline-fd", required_argument, NULL, OPT_LIFELINE},
	{"witness-fd", required_argument, NULL, OPT_WITNESS},
	{"ready-fd", required_argument, NULL, OPT_READY},
	{"pid-fd", required_argument, NULL, OPT_PID},
	{"hold-fd", required_argument, NULL, OPT_HOLD},
	{"filter-fd", required_argument, NULL, OPT_FILTER},
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

void complain(const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n] = '\0';
	dprintf(STDERR_FILENO, "%s: %s\n", self, line);
}

static void bad(const char *what, const char *value)
{
	complain("bad %s '%s'; see %s --help", what, value, self);
	exit(2);
}

static uint64_t number(const char *what, uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(optarg, &end, 10);
	if (errno || end == optarg || *end || optarg[0] == '-' || value < least || value > most)
		bad(what, optarg);
	return value;
}

/* Given to us, not to the program. */
static int descriptor(const char *what)
{
	int fd = (int)number(what, 0, 1 << 20);

	if (fcntl(fd, F_SETFD, FD_CLOEXEC))
		bad(what, optarg);
	return fd;
}

static void set_text(char *to, size_t size, const char *what)
{
	if (!*optarg || strlen(optarg) >= size || strspn(optarg, NAME_CHARS) != strlen(optarg))
		bad(what, optarg);
	strcpy(to, optarg);
}

static void set_descriptor(int id)
{
	switch (id) {
	case OPT_LIFELINE:
		options.lifeline_fd = descriptor("--lifeline-fd");
		break;
	case OPT_WITNESS:
		options.witness_fd = descriptor("--witness-fd");
		break;
	case OPT_READY:
		options.ready_fd = descriptor("--ready-fd");
		break;
	case OPT_PID:
		options.pid_fd = descriptor("--pid-fd");
		break;
	case OPT_HOLD:
		options.hold_fd = descriptor("--hold-fd");
		break;
	case OPT_FILTER:
		options.filter_fd = descriptor("--filter-fd");
		break;
	default:
		exit(2); /* getopt has said why */
	}
}

static void set_option(int id)
{
	switch (id) {
	case OPT_NAME:
		set_text(options.name, sizeof(options.name), "--name");
		break;
	case OPT_JOIN:
		options.join = optarg;
		break;
	case OPT_DEVICES:
		options.devices = (unsigned int)number("--devices", 1, FAKEGPU_MAX_DEVICES);
		break;
	case OPT_VRAM:
		options.vram = MIB * number("--vram", 1, 32768);
		break;
	case OPT_QUOTA:
		options.quota = MIB * number("--quota", 1, 32768);
		break;
	case OPT_VERSION:
		set_text(options.version, sizeof(options.version), "--version");
		break;
	case OPT_NO_UVM:
		options.no_uvm = true;
		break;
	case OPT_WAIT_ALL:
		options.wait_all = true;
		break;
	case OPT_FAULT:
		if (options.fault_count == FGPU_FAULTS_MAX)
			bad("number of faults, one too many:", optarg);
		options.faults[options.fault_count++] = optarg;
		break;
	case OPT_HELP:
		fputs(usage, stdout);
		exit(0);
	default:
		set_descriptor(id);
	}
}

static bool is_of_device(int id)
{
	return id == OPT_DEVICES || id == OPT_VRAM || id == OPT_QUOTA || id == OPT_VERSION ||
	       id == OPT_NO_UVM || id == OPT_FAULT || id == OPT_NAME || id == OPT_WITNESS;
}

static void parse(int argc, char **argv)
{
	int id, index = 0;

	while ((id = getopt_long(argc, argv, "+", long_options, &index)) >= 0) {
		set_option(id);
		if (is_of_device(id))
			own_option = long_options[index].name;
	}
	if (options.witness_fd >= 0 && !witness_open(options.witness_fd)) {
		complain("--witness-fd %d is no witness file (kmod/user/witness.h)",
			 options.witness_fd);
		exit(2);
	}
}

static int run_ctl(int argc, char **argv)
{
	char command[256] = "";
	const char *name;
	size_t used = 0;

	parse(argc, argv);
	name = options.join ? options.join : options.name;
	if (!*name)
		name = getenv("FAKEGPU_DEVICE");
	if (!name) {
		complain("which device? ctl --name NAME");
		return 2;
	}
	for (; optind < argc && used < sizeof(command); optind++)
		used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s",
					 used ? " " : "", argv[optind]);
	if (!used || used >= sizeof(command))
		bad("ctl command", command);
	return control_client(name, command);
}

static void name_device(void)
{
	if (!options.name[0])
		snprintf(options.name, sizeof(options.name), "%d", (int)getpid());
}

/*
 * Nested runs and tools find the device that a program runs on by this. What
 * was asked of a device of its own must not be lost on one that runs already.
 */
static void choose_device(void)
{
	const char *on = getenv("FAKEGPU_DEVICE");
	char name[96];

	if (!options.join)
		options.join = on;
	options.inherited = on && options.join && same_device(on, options.join);
	if (options.join && own_option) {
		complain("--%s is for a device of its own, but %s runs already%s", own_option,
			 options.join, options.inherited ? " (FAKEGPU_DEVICE)" : "");
		exit(2);
	}
	if (options.join) {
		setenv("FAKEGPU_DEVICE", options.join, 1);
		return;
	}
	name_device();
	snprintf(name, sizeof(name), "fakegpu/%u/%s", (unsigned int)getuid(), options.name);
	setenv("FAKEGPU_DEVICE", name, 1);
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/');
	bool run = !strcmp(base ? base + 1 : argv[0], "fakegpu-run");

	if (!run && argc > 1 && !strcmp(argv[1], "ctl"))
		return run_ctl(argc - 1, argv + 1);
	if (run)
		self = "fakegpu-run";
	parse(argc, argv);
	if (!run && optind < argc)
		bad("argument", argv[optind]);
	if (!run) {
		name_device();
		return run_daemon();
	}
	if (optind == argc) {
		complain("no command; see fakegpu-run --help");
		return 2;
	}
	options.command = argv + optind;
	choose_device();
	return run_command();
}
