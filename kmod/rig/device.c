// SPDX-License-Identifier: GPL-2.0
/*
 * The converters of a rig as an IIO device. It does what the driver of a real
 * converter does, so it can be read as an example of one:
 *
 *  - probe() describes the channels: each ADC channel is an input that can be
 *    read by itself (in_voltageN_raw) or as part of a scan, each DAC channel an
 *    output (out_voltageN_raw). All have a scale and a label.
 *  - read_raw() and write_raw() serve sysfs and consumers in the kernel.
 *  - A trigger starts a scan: its top half notes the moment, its thread reads
 *    the channels that somebody wants and pushes them into the buffers.
 *
 * All memory is managed by the driver core (devm_...), and the IIO core sees to
 * it that none of these functions runs any more when the device has gone.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mod_devicetable.h>

#include <linux/iio/buffer.h>
#include <linux/iio/iio.h>
#include <linux/iio/trigger.h>
#include <linux/iio/trigger_consumer.h>
#include <linux/iio/triggered_buffer.h>

#include "fpu.h"
#include "rig.h"

/* What IIO asks of a channel and never changes. */
struct terminal {
	const char *label;
	int scale[2];		/* mV per code: scale[0] / 2^scale[1] */
	int range[3];		/* codes: lowest, step, highest */
};

struct board {
	struct hytest_rig *rig;
	struct terminal *terminals;	/* found by the address of a channel */
	unsigned int n_adc;
	/* The IIO device may be held by others for longer than the rig exists. */
	char name[HYTEST_RIG_NAME_LEN];
	u64 triggered_ns;		/* 0: the top half did not run */
	/* A scan at its largest; IIO puts the time stamp behind it. */
	s32 scan[HT_MAX_CHANNELS + 2 * sizeof(s64) / sizeof(s32)] __aligned(sizeof(s64));
};

/* One channel by itself, as it is now. */
static int sample_adc(struct hytest_rig *rig, unsigned int number, int *code)
{
	int ret;

	mutex_lock(&rig->mutex);
	ret = hytest_plant_advance(rig, ktime_get_ns());
	if (!ret && hytest_fault_strikes(&rig->faults.read_errors))
		ret = -EIO;
	if (!ret) {
		hytest_fpu_begin();
		*code = ht_rig_read(rig->core, number);
		ht_rig_end_scan(rig->core);
		hytest_fpu_end();
	}
	mutex_unlock(&rig->mutex);
	return ret;
}

/* What the DAC was told last. */
static int read_back_dac(struct hytest_rig *rig, unsigned int number, int *code)
{
	int ret = 0;

	mutex_lock(&rig->mutex);
	if (hytest_fault_strikes(&rig->faults.read_errors)) {
		ret = -EIO;
	} else {
		hytest_fpu_begin();
		*code = ht_rig_written(rig->core, number);
		hytest_fpu_end();
	}
	mutex_unlock(&rig->mutex);
	return ret;
}

static int write_dac(struct hytest_rig *rig, unsigned int number, int code)
{
	int ret;

	mutex_lock(&rig->mutex);
	ret = hytest_plant_advance(rig, ktime_get_ns());
	if (!ret && hytest_fault_strikes(&rig->faults.write_errors))
		ret = -EIO;
	if (!ret) {
		hytest_fpu_begin();
		ht_rig_write(rig->core, number, code);
		hytest_fpu_end();
	}
	mutex_unlock(&rig->mutex);
	return ret;
}

static int rig_read_raw(struct iio_dev *indio_dev, const struct iio_chan_spec *chan, int *val,
			int *val2, long mask)
{
	struct board *board = iio_priv(indio_dev);
	int ret;

	switch (mask) {
	case IIO_CHAN_INFO_RAW:
		if (chan->output)
			ret = read_back_dac(board->rig, chan->channel, val);
		else
			ret = sample_adc(board->rig, chan->channel, val);
		return ret ? ret : IIO_VAL_INT;
	case IIO_CHAN_INFO_SCALE:
		*val = board->terminals[chan->address].scale[0];
		*val2 = board->terminals[chan->address].scale[1];
		return IIO_VAL_FRACTIONAL_LOG2;
	default:
		return -EINVAL;
	}
}

/* What can be written: out_voltageN_raw_available. */
static int rig_read_avail(struct iio_dev *indio_dev, const struct iio_chan_spec *chan,
			  const int **vals, int *type, int *length, long mask)
{
	struct board *board = iio_priv(indio_dev);

	if (mask != IIO_CHAN_INFO_RAW)
		return -EINVAL;
	*vals = board->terminals[chan->address].range;
	*type = IIO_VAL_INT;
	*length = ARRAY_SIZE(board->terminals->range);
	return IIO_AVAIL_RANGE;
}

static int rig_write_raw(struct iio_dev *indio_dev, const struct iio_chan_spec *chan, int val,
			 int val2, long mask)
{
	struct board *board = iio_priv(indio_dev);
	const int *range = board->terminals[chan->address].range;

	if (mask != IIO_CHAN_INFO_RAW || !chan->output)
		return -EINVAL;
	if (val2 || val < range[0] || val > range[2])
		return -EINVAL;
	return write_dac(board->rig, chan->channel, val);
}

/* Codes are integers: the core then refuses "0.5". */
static int rig_write_format(struct iio_dev *indio_dev, const struct iio_chan_spec *chan, long mask)
{
	return mask == IIO_CHAN_INFO_RAW ? IIO_VAL_INT : -EINVAL;
}

static int rig_read_label(struct iio_dev *indio_dev, const struct iio_chan_spec *chan, char *label)
{
	struct board *board = iio_priv(indio_dev);

	return sysfs_emit(label, "%s\n", board->terminals[chan->address].label);
}

static const struct iio_info rig_info = {
	.read_raw = rig_read_raw,
	.read_avail = rig_read_avail,
	.write_raw = rig_write_raw,
	.write_raw_get_fmt = rig_write_format,
	.read_label = rig_read_label,
};

/* In hard interrupt context, on every kernel: the moment that the scan is of. */
static irqreturn_t rig_triggered(int irq, void *data)
{
	struct iio_poll_func *pf = data;
	struct board *board = iio_priv(pf->indio_dev);

	board->triggered_ns = ktime_get_ns();
	pf->timestamp = iio_get_time_ns(pf->indio_dev);
	return IRQ_WAKE_THREAD;
}

/*
 * Puts the channels that are wanted one behind the other, each at a multiple of
 * its size, as IIO has it.
 */
static void fill_scan(struct iio_dev *indio_dev)
{
	struct board *board = iio_priv(indio_dev);
	u8 *scan = (u8 *)board->scan;
	unsigned int i, at = 0;

	memset(scan, 0, sizeof(board->scan));
	hytest_fpu_begin();
	for_each_set_bit(i, indio_dev->active_scan_mask, board->n_adc) {
		const unsigned int bytes = indio_dev->channels[i].scan_type.storagebits / 8;
		const s32 code = ht_rig_read(board->rig->core, i);

		at = ALIGN(at, bytes);
		if (bytes == sizeof(s16))
			*(s16 *)(scan + at) = code;
		else
			*(s32 *)(scan + at) = code;
		at += bytes;
	}
	ht_rig_end_scan(board->rig->core);
	hytest_fpu_end();
}

/* A scan as it was at that moment. False if it is lost. */
static bool take_scan(struct iio_dev *indio_dev, u64 moment_ns)
{
	struct board *board = iio_priv(indio_dev);
	struct hytest_rig *rig = board->rig;
	s32 late_us;
	bool taken;

	mutex_lock(&rig->mutex);
	taken = !hytest_plant_advance(rig, moment_ns) &&
		!hytest_fault_strikes(&rig->faults.lost) &&
		!hytest_fault_strikes(&rig->faults.read_errors);
	if (taken)
		fill_scan(indio_dev);
	late_us = rig->faults.late_us;
	mutex_unlock(&rig->mutex);
	if (late_us)
		usleep_range(late_us, late_us + 1);
	return taken;
}

/* The thread that the top half has woken. */
static irqreturn_t rig_scan(int irq, void *data)
{
	struct iio_poll_func *pf = data;
	struct iio_dev *indio_dev = pf->indio_dev;
	struct board *board = iio_priv(indio_dev);
	u64 moment_ns = board->triggered_ns;

	/* Some triggers are fired from a thread and leave the top half out. */
	if (!moment_ns) {
		moment_ns = ktime_get_ns();
		pf->timestamp = iio_get_time_ns(indio_dev);
	}
	board->triggered_ns = 0;
	if (take_scan(indio_dev, moment_ns))
		iio_push_to_buffers_with_timestamp(indio_dev, board->scan, pf->timestamp);
	iio_trigger_notify_done(indio_dev->trig);
	return IRQ_HANDLED;
}

static void describe_terminal(struct terminal *terminal, const struct ht_image_channel *channel)
{
	struct ht_converter converter;

	hytest_fpu_begin();
	ht_rig_converter(channel, &converter);
	hytest_fpu_end();
	terminal->label = channel->name;
	terminal->scale[0] = converter.scale.val;
	terminal->scale[1] = converter.scale.val2;
	terminal->range[0] = converter.low_code;
	terminal->range[1] = 1;
	terminal->range[2] = converter.high_code;
}

static struct iio_chan_spec adc_channel(unsigned int number, const struct ht_image_channel *channel)
{
	return (struct iio_chan_spec){
		.type = IIO_VOLTAGE,
		.indexed = 1,
		.channel = number,
		.address = number,
		.datasheet_name = channel->name,
		.info_mask_separate = BIT(IIO_CHAN_INFO_RAW) | BIT(IIO_CHAN_INFO_SCALE),
		.scan_index = number,
		.scan_type = {
			.sign = 's',
			.realbits = channel->bits,
			.storagebits = channel->bits <= 16 ? 16 : 32,
			.endianness = IIO_CPU,
		},
	};
}

static struct iio_chan_spec dac_channel(unsigned int number, unsigned int address,
					const struct ht_image_channel *channel)
{
	return (struct iio_chan_spec){
		.type = IIO_VOLTAGE,
		.indexed = 1,
		.output = 1,
		.channel = number,
		.address = address,
		.datasheet_name = channel->name,
		.info_mask_separate = BIT(IIO_CHAN_INFO_RAW) | BIT(IIO_CHAN_INFO_SCALE),
		.info_mask_separate_available = BIT(IIO_CHAN_INFO_RAW),
		.scan_index = -1,
	};
}

/* What the program of the rig puts out is what an ADC takes in, and the reverse. */
static int describe_channels(struct device *dev, struct iio_dev *indio_dev)
{
	struct board *board = iio_priv(indio_dev);
	const struct ht_image *image = &board->rig->parts;
	const unsigned int n_adc = image->header->n_outputs;
	const unsigned int n_dac = image->header->n_inputs;
	struct iio_chan_spec *channels;
	unsigned int i, n;

	board->n_adc = n_adc;
	board->terminals = devm_kcalloc(dev, n_adc + n_dac + 1, sizeof(*board->terminals),
					GFP_KERNEL);
	channels = devm_kcalloc(dev, n_adc + n_dac + 1, sizeof(*channels), GFP_KERNEL);
	if (!board->terminals || !channels)
		return -ENOMEM;
	for (n = 0; n < n_adc; n++) {
		channels[n] = adc_channel(n, &image->outputs[n].channel);
		describe_terminal(&board->terminals[n], &image->outputs[n].channel);
	}
	for (i = 0; i < n_dac; i++, n++) {
		channels[n] = dac_channel(i, n, &image->inputs[i].channel);
		describe_terminal(&board->terminals[n], &image->inputs[i].channel);
	}
	if (n_adc)
		channels[n++] = (struct iio_chan_spec)IIO_CHAN_SOFT_TIMESTAMP(n_adc);
	indio_dev->channels = channels;
	indio_dev->num_channels = n;
	return 0;
}

static int rig_probe(struct platform_device *pdev)
{
	struct hytest_rig *const *data = dev_get_platdata(&pdev->dev);
	struct iio_dev *indio_dev;
	struct board *board;
	int ret;

	/* Not one of ours, but forced upon this driver. */
	if (strcmp(pdev->name, HYTEST_RIG_DRIVER) || !data)
		return -ENODEV;
	indio_dev = devm_iio_device_alloc(&pdev->dev, sizeof(*board));
	if (!indio_dev)
		return -ENOMEM;
	board = iio_priv(indio_dev);
	board->rig = *data;
	strscpy(board->name, board->rig->name, sizeof(board->name));
	indio_dev->name = board->name;
	indio_dev->info = &rig_info;
	indio_dev->modes = INDIO_DIRECT_MODE;
	ret = describe_channels(&pdev->dev, indio_dev);
	if (ret)
		return ret;
	if (board->n_adc) {
		ret = devm_iio_triggered_buffer_setup(&pdev->dev, indio_dev, rig_triggered,
						      rig_scan, NULL);
		if (ret)
			return ret;
	}
	ret = devm_iio_device_register(&pdev->dev, indio_dev);
	if (ret)
		return ret;
	board->rig->iio_number = iio_device_id(indio_dev);
	return 0;
}

struct platform_driver hytest_rig_driver = {
	.driver = {
		.name = HYTEST_RIG_DRIVER,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,	/* CREATE tells its number */
	},
	.probe = rig_probe,
};
