// SPDX-License-Identifier: GPL-2.0
/*
 * hytest_core: the core and its floating-point guard, for the loop and the rig.
 *
 * The core knows no kernel header, so what it offers is exported here.
 */
#include <linux/export.h>
#include <linux/module.h>

#include "core/channel.h"
#include "core/loop.h"
#include "core/rig.h"
#include "fpu.h"

EXPORT_SYMBOL_GPL(ht_bits_of_count);
EXPORT_SYMBOL_GPL(ht_cause_text);
EXPORT_SYMBOL_GPL(ht_channel_code);
EXPORT_SYMBOL_GPL(ht_channel_init);
EXPORT_SYMBOL_GPL(ht_channel_read);
EXPORT_SYMBOL_GPL(ht_channel_signal);
EXPORT_SYMBOL_GPL(ht_channel_write);
EXPORT_SYMBOL_GPL(ht_fault_is_for_dac);
EXPORT_SYMBOL_GPL(ht_fault_name);
EXPORT_SYMBOL_GPL(ht_image_open);
EXPORT_SYMBOL_GPL(ht_loop_arm);
EXPORT_SYMBOL_GPL(ht_loop_bytes);
EXPORT_SYMBOL_GPL(ht_loop_check_health);
EXPORT_SYMBOL_GPL(ht_loop_dry_tick);
EXPORT_SYMBOL_GPL(ht_loop_first_trip);
EXPORT_SYMBOL_GPL(ht_loop_init);
EXPORT_SYMBOL_GPL(ht_loop_inputs);
EXPORT_SYMBOL_GPL(ht_loop_lock);
EXPORT_SYMBOL_GPL(ht_loop_mode);
EXPORT_SYMBOL_GPL(ht_loop_outputs);
EXPORT_SYMBOL_GPL(ht_loop_program);
EXPORT_SYMBOL_GPL(ht_loop_ready);
EXPORT_SYMBOL_GPL(ht_loop_release);
EXPORT_SYMBOL_GPL(ht_loop_rest);
EXPORT_SYMBOL_GPL(ht_loop_safe);
EXPORT_SYMBOL_GPL(ht_loop_start);
EXPORT_SYMBOL_GPL(ht_loop_stop);
EXPORT_SYMBOL_GPL(ht_loop_tick);
EXPORT_SYMBOL_GPL(ht_loop_trip);
EXPORT_SYMBOL_GPL(ht_loop_vitals);
EXPORT_SYMBOL_GPL(ht_n_block_types);
EXPORT_SYMBOL_GPL(ht_program_commit);
EXPORT_SYMBOL_GPL(ht_program_params);
EXPORT_SYMBOL_GPL(ht_program_stage);
EXPORT_SYMBOL_GPL(ht_rig_adc_fault);
EXPORT_SYMBOL_GPL(ht_rig_advance);
EXPORT_SYMBOL_GPL(ht_rig_bytes);
EXPORT_SYMBOL_GPL(ht_rig_converter);
EXPORT_SYMBOL_GPL(ht_rig_dac_fault);
EXPORT_SYMBOL_GPL(ht_rig_end_scan);
EXPORT_SYMBOL_GPL(ht_rig_fault);
EXPORT_SYMBOL_GPL(ht_rig_init);
EXPORT_SYMBOL_GPL(ht_rig_number);
EXPORT_SYMBOL_GPL(ht_rig_read);
EXPORT_SYMBOL_GPL(ht_rig_reset);
EXPORT_SYMBOL_GPL(ht_rig_write);
EXPORT_SYMBOL_GPL(ht_rig_written);
EXPORT_SYMBOL_GPL(ht_scan_code);
EXPORT_SYMBOL_GPL(hytest_fpu_alloc);
EXPORT_SYMBOL_GPL(hytest_fpu_begin);
EXPORT_SYMBOL_GPL(hytest_fpu_end);
EXPORT_SYMBOL_GPL(hytest_fpu_enter);
EXPORT_SYMBOL_GPL(hytest_fpu_free);
EXPORT_SYMBOL_GPL(hytest_fpu_leave);

static int __init hytest_core_init(void)
{
	ht_pause = hytest_fpu_pause;
	return hytest_fpu_init();
}
module_init(hytest_core_init);

static void __exit hytest_core_exit(void)
{
}
module_exit(hytest_core_exit);

MODULE_DESCRIPTION("Real-time hybrid testing: programs of blocks");
MODULE_AUTHOR("The hytest developers");
MODULE_LICENSE("GPL");
