// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fault grammar: what is refused and why, and what the list gives back.
 */
#include "rig.h"

static struct fgpu_device *device;
static char text[512];

static void set(const char *spec)
{
	char why[128] = "";

	if (fgpu_fault_set(device, spec, why, sizeof(why)))
		fail(__FILE__, __LINE__, "%s refused: %s", spec, why);
}

static const char *list(void)
{
	fgpu_fault_list(device, text, sizeof(text));
	return text;
}

static void refused(const char *spec, const char *reason)
{
	char why[128] = "";

	if (fgpu_fault_set(device, spec, why, sizeof(why)) != -EINVAL || strcmp(why, reason))
		fail(__FILE__, __LINE__, "'%s' gave '%s', not '%s'", spec, why, reason);
	if (fgpu_fault_list(device, text, sizeof(text)))
		fail(__FILE__, __LINE__, "'%s' armed something", spec);
}

static void bad_specs_are_refused_with_a_reason(void)
{
	device = device_new(0, 1);
	refused("", ": no such fault");
	refused("melt", "melt: no such fault");
	refused("xid", "xid: needs a value, as in xid=31 or slow=1000000");
	refused("xid=", "xid: a decimal number must follow '='");
	refused("xid=x", "xid: a decimal number must follow '='");
	refused("xid=-1", "xid: a decimal number must follow '='");
	refused("xid=0x1f", "xid: what follows the number is not ','");
	refused("xid=31 ", "xid: what follows the number is not ','");
	refused("xid=7", "xid: not in the table of Xids");
	refused("xid=4294967327", "xid: not in the table of Xids");
	refused("xid=79", "xid: 79 concerns the whole device: use off-bus");
	refused("xid=119", "xid: 119 concerns calls, not jobs: use fw-timeout");
	refused("xid=9999999999999999999", "xid: the number is too big");
	refused("hang=1", "hang: takes no value");
	refused("slow=10000000001", "slow: at most 10000000000 ns");
	refused("hang,", ": no such option: device, ctx, after, count");
	refused("hang,soon", "soon: no such option: device, ctx, after, count");
	refused("hang,after", "after: needs a number");
	refused("hang,after=1,after=2", "after: given twice");
	refused("hang,device=1", "device: no such device");
	refused("hang,ctx=0", "ctx: no such context");
	refused("off-bus,count=2", "count: off-bus lasts until cleared");
	refused("hang\nhang", "hang: one fault a line");
	refused("a-name-much-longer-than-any-other",
		"a-name-much-longer-than: no such fault or option");
	refused("xid\x01=31", "xid?: no such fault");
	fgpu_device_destroy(device);
}

static void specs_come_back_from_the_list(void)
{
	static const char *const specs[] = {
		"xid=8",
		"xid=109,ctx=3,after=10,count=0",
		"slow=1000000,after=5",
		"lost-doorbell,count=4",
		"no-fence,ctx=1",
		"fw-timeout,count=0",
		"ecc,after=1",
		"off-bus,after=99",
	};
	size_t i;

	device = device_new(0, 1);
	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		set(specs[i]);
		list();
		text[strlen(text) - 1] = '\0';
		if (strcmp(text, specs[i]))
			fail(__FILE__, __LINE__, "'%s' came back as '%s'", specs[i], text);
		fgpu_fault_clear(device);
	}
	set("hang\n");				       /* as echo writes it */
	CHECK_EQ(fgpu_fault_list(device, text, 4), 1); /* too small: cut, not overrun */
	CHECK(!strcmp(text, "han"));
	for (i = 1; i < 16; i++)
		set("hang");
	CHECK_EQ(fgpu_fault_set(device, "hang", text, sizeof(text)), -EINVAL);
	CHECK(!strcmp(text, "16 faults are armed already: clear them first"));
	fgpu_device_destroy(device);
}

static void device_names_the_device(void)
{
	char why[64];

	device = device_new(1, 2);
	CHECK_EQ(fgpu_fault_set(device, "hang,device=0", why, sizeof(why)), 0);
	CHECK_EQ(fgpu_fault_list(device, text, sizeof(text)), 0);
	set("hang,device=1");
	CHECK(!strcmp(list(), "hang,device=1\n"));
	fgpu_fault_clear(device);
	set("off-bus");
	CHECK(strstr(last_log(), "(PCI:0000:02:00): 79"));
	fgpu_device_destroy(device);
}

SUITE(test_fault_specs, TEST(bad_specs_are_refused_with_a_reason),
      TEST(specs_come_back_from_the_list), TEST(device_names_the_device));
