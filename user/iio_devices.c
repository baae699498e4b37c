// SPDX-License-Identifier: GPL-2.0
/*
 * The IIO devices that there are, asked through libiio.
 */
#include <errno.h>
#include <iio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iio_devices.h"

#define TEXT_SIZE	1024

/* SI units for one of IIO's, as kmod/channels.c has them. */
static const struct {
	enum iio_chan_type type;
	const char *unit;
	double factor;
} units[] = {
	{ IIO_VOLTAGE, "V", 1e-3 },
	{ IIO_ALTVOLTAGE, "V", 1e-3 },
	{ IIO_CURRENT, "A", 1e-3 },
	{ IIO_POWER, "W", 1e-3 },
	{ IIO_ENERGY, "J", 1 },
	{ IIO_ACCEL, "m/s^2", 1 },
	{ IIO_GRAVITY, "m/s^2", 1 },
	{ IIO_ANGL_VEL, "rad/s", 1 },
	{ IIO_ANGL, "rad", 1 },
	{ IIO_PHASE, "rad", 1 },
	{ IIO_INCLI, "rad", M_PI / 180 },
	{ IIO_MAGN, "T", 1e-4 },
	{ IIO_LIGHT, "lx", 1 },
	{ IIO_TEMP, "degC", 1e-3 },
	{ IIO_CAPACITANCE, "F", 1e-9 },
	{ IIO_PRESSURE, "Pa", 1e3 },
	{ IIO_HUMIDITYRELATIVE, "%", 1e-3 },
	{ IIO_DISTANCE, "m", 1 },
	{ IIO_PROXIMITY, "m", 1 },
	{ IIO_VELOCITY, "m/s", 1 },
	{ IIO_RESISTANCE, "Ohm", 1 },
	{ IIO_MASSCONCENTRATION, "kg/m^3", 1e-9 },
	{ IIO_POSITIONRELATIVE, "", 1e-3 },
	{ IIO_TIMESTAMP, "s", 1e-9 },
};

const char *hytest_iio_use_text(enum hytest_iio_use use)
{
	switch (use) {
	case HYTEST_IIO_SCANNED:
		return "input (scanned)";
	case HYTEST_IIO_POLLED:
		return "input (polled)";
	case HYTEST_IIO_OUTPUT:
		return "output";
	default:
		return "nothing";
	}
}

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* "" if there is no such attribute. */
static void read_text(struct iio_channel *channel, const char *attribute, char *text, size_t size)
{
	char value[TEXT_SIZE] = "";

	if (iio_channel_find_attr(channel, attribute) &&
	    iio_channel_attr_read(channel, attribute, value, sizeof(value)) < 0)
		value[0] = '\0';
	copy_text(text, size, value);
}

static double read_number(struct iio_channel *channel, const char *attribute, double preset)
{
	double value;

	if (!iio_channel_find_attr(channel, attribute) ||
	    iio_channel_attr_read_double(channel, attribute, &value))
		return preset;
	return value;
}

static double unit_of(enum iio_chan_type type, const char **unit)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].type != type)
			continue;
		*unit = units[i].unit;
		return units[i].factor;
	}
	*unit = "";
	return 1;
}

/* Codes that exist: "[lowest step highest]" of the driver, or those of the scan's bits. */
static bool find_codes(struct iio_channel *channel, double *low, double *high)
{
	const struct iio_data_format *format;
	char text[TEXT_SIZE];

	read_text(channel, "raw_available", text, sizeof(text));
	if (sscanf(text, "[%lf %*f %lf]", low, high) == 2)
		return true;
	if (!iio_channel_is_scan_element(channel))
		return false;
	format = iio_channel_get_data_format(channel);
	if (!format->bits)
		return false;
	*low = format->is_signed ? -ldexp(1, format->bits - 1) : 0;
	*high = ldexp(1, format->bits - format->is_signed) - 1;
	return true;
}

static void look_at_value(struct iio_channel *channel, struct hytest_iio_channel *c)
{
	const double factor = unit_of(iio_channel_get_type(channel), &c->unit);
	const double offset = read_number(channel, "offset", 0);
	double low, high, processed;

	c->scale = read_number(channel, "scale", 1) * factor;
	c->has_range = c->use != HYTEST_IIO_NOTHING && find_codes(channel, &low, &high);
	if (c->has_range) {
		c->low = (low + offset) * c->scale;
		c->high = (high + offset) * c->scale;
	}
	if (iio_channel_find_attr(channel, "raw")) {
		c->error = -iio_channel_attr_read_longlong(channel, "raw", &c->code);
		c->has_code = !c->error;
		c->value = (c->code + offset) * c->scale;
	} else if (iio_channel_find_attr(channel, "input")) {
		c->error = -iio_channel_attr_read_double(channel, "input", &processed);
		c->value = processed * factor;
	} else {
		c->error = ENODATA;
	}
}

static enum hytest_iio_use use_of(struct iio_channel *channel, bool triggered)
{
	const bool has_raw = iio_channel_find_attr(channel, "raw");

	if (iio_channel_get_type(channel) == IIO_TIMESTAMP)
		return HYTEST_IIO_NOTHING;
	if (iio_channel_is_output(channel))
		return has_raw ? HYTEST_IIO_OUTPUT : HYTEST_IIO_NOTHING;
	if (triggered && iio_channel_is_scan_element(channel))
		return HYTEST_IIO_SCANNED;
	return has_raw || iio_channel_find_attr(channel, "input") ? HYTEST_IIO_POLLED :
								    HYTEST_IIO_NOTHING;
}

static void look_at_channel(struct iio_channel *channel, bool triggered,
			    struct hytest_iio_channel *c)
{
	copy_text(c->id, sizeof(c->id), iio_channel_get_id(channel));
	read_text(channel, "label", c->label, sizeof(c->label));
	if (!c->label[0])
		copy_text(c->label, sizeof(c->label), iio_channel_get_name(channel));
	c->output = iio_channel_is_output(channel);
	c->use = use_of(channel, triggered);
	if (iio_channel_is_scan_element(channel))
		c->bits = iio_channel_get_data_format(channel)->bits;
	read_text(channel, "sampling_frequency", c->rate, sizeof(c->rate));
	look_at_value(channel, c);
}

static int look_at_device(struct iio_device *device, struct hytest_iio_device *d)
{
	const struct iio_device *trigger = NULL;
	char text[TEXT_SIZE] = "";
	unsigned int i;

	copy_text(d->id, sizeof(d->id), iio_device_get_id(device));
	copy_text(d->name, sizeof(d->name), iio_device_get_name(device));
	copy_text(d->label, sizeof(d->label), iio_device_get_label(device));
	d->buffered = iio_device_get_buffer_attrs_count(device);
	d->triggered = iio_device_get_trigger(device, &trigger) != -ENOENT;
	if (trigger)
		copy_text(d->trigger, sizeof(d->trigger), iio_device_get_name(trigger));
	if (iio_device_find_attr(device, "sampling_frequency") &&
	    iio_device_attr_read(device, "sampling_frequency", text, sizeof(text)) > 0)
		copy_text(d->rate, sizeof(d->rate), text);
	d->n_channels = iio_device_get_channels_count(device);
	d->channels = calloc(d->n_channels + 1, sizeof(*d->channels));
	if (!d->channels)
		return -ENOMEM;
	for (i = 0; i < d->n_channels; i++)
		look_at_channel(iio_device_get_channel(device, i), d->triggered,
				&d->channels[i]);
	return 0;
}

static struct iio_context *open_context(const char *uri, struct hytest_message *message)
{
	struct iio_context *context;
	char reason[256];

	errno = 0;
	context = uri ? iio_create_context_from_uri(uri) : iio_create_local_context();
	if (context)
		return context;
	iio_strerror(errno, reason, sizeof(reason));
	if (!uri || !strncmp(uri, "local:", 6))
		snprintf(message->text, sizeof(message->text),
			 "no IIO on this machine: %s (modprobe industrialio?)", reason);
	else
		snprintf(message->text, sizeof(message->text),
			 "cannot open the IIO context %s: %s; try local: or ip:HOST, where iiod runs",
			 uri, reason);
	return NULL;
}

struct hytest_iio_device *hytest_iio_list(const char *uri, size_t *n,
					  struct hytest_message *message)
{
	struct iio_context *context = open_context(uri, message);
	struct hytest_iio_device *devices;
	struct iio_device *device;
	unsigned int i, count;

	*n = 0;
	if (!context)
		return NULL;
	count = iio_context_get_devices_count(context);
	devices = calloc(count + 1, sizeof(*devices));
	for (i = 0; devices && i < count; i++) {
		device = iio_context_get_device(context, i);
		if (iio_device_is_trigger(device))
			continue;
		if (!look_at_device(device, &devices[(*n)++]))
			continue;
		hytest_iio_list_free(devices, *n);
		devices = NULL;
	}
	if (!devices)
		snprintf(message->text, sizeof(message->text), "no memory");
	iio_context_destroy(context);
	return devices;
}

void hytest_iio_list_free(struct hytest_iio_device *devices, size_t n)
{
	size_t i;

	for (i = 0; devices && i < n; i++)
		free(devices[i].channels);
	free(devices);
}
