// SPDX-License-Identifier: GPL-2.0
/*
 * Finds channels of IIO devices and GPIO lines by their names, and learns from
 * the driver how its codes become SI units.
 *
 * IIO's consumers usually get their channels from a map or the device tree, which
 * name only what has a datasheet name. But all that iio_read_channel_raw() and
 * its kin look at are the two pointers of a struct iio_channel, device and spec,
 * so we fill in our own and can use any channel of any device.
 */
#include <linux/err.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/iio/iio.h>
#include <linux/iio/iio-opaque.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "binding.h"
#include "compat.h"

#define ID_LENGTH	64

/* Where the tables of the driver end: iio_device_unregister() takes this lock. */
bool hytest_lock_driver(struct iio_dev *indio_dev)
{
	struct mutex *lock = &to_iio_dev_opaque(indio_dev)->info_exist_lock;

	mutex_lock(lock);
	if (indio_dev->info)
		return true;
	mutex_unlock(lock);
	return false;
}

void hytest_unlock_driver(struct iio_dev *indio_dev)
{
	mutex_unlock(&to_iio_dev_opaque(indio_dev)->info_exist_lock);
}

/* The bus has triggers, too. */
bool hytest_is_iio_device(const struct device *dev)
{
	return str_has_prefix(dev_name(dev), "iio:device");
}

struct wanted_device {
	const char *name;
	bool by_label;
};

static int device_fits(struct device *dev, const void *data)
{
	const struct wanted_device *wanted = data;
	struct iio_dev *indio_dev;
	const char *name;
	bool fits;

	if (!hytest_is_iio_device(dev))
		return 0;
	indio_dev = dev_to_iio_dev(dev);
	if (!hytest_lock_driver(indio_dev))
		return 0;
	name = wanted->by_label ? indio_dev->label : indio_dev->name;
	fits = name && !strcmp(name, wanted->name);
	hytest_unlock_driver(indio_dev);
	return fits;
}

/* With a reference. */
static enum hytest_bind_problem find_device(const char *name, struct iio_dev **found)
{
	struct wanted_device wanted = { .name = name, .by_label = true };
	struct device *dev, *other;

	dev = bus_find_device(&iio_bus_type, NULL, &wanted, device_fits);
	if (!dev) {
		wanted.by_label = false;
		dev = bus_find_device(&iio_bus_type, NULL, &wanted, device_fits);
	}
	if (!dev)
		return HYTEST_BIND_NO_DEVICE;
	other = bus_find_device(&iio_bus_type, dev, &wanted, device_fits);
	if (other) {
		put_device(other);
		put_device(dev);
		return HYTEST_BIND_TWO_DEVICES;
	}
	*found = dev_to_iio_dev(dev);
	return HYTEST_BIND_OK;
}

/*
 * What IIO calls the types, and SI units for one of IIO's: see
 * Documentation/ABI/testing/sysfs-bus-iio of Linux.
 */
#define UNITS(n, d)	{ HT_NUMBER_FRACTION, (n), (d) }

static const struct {
	const char *name;
	struct ht_number unit;
} types[] = {
	[IIO_VOLTAGE] = { "voltage", UNITS(1, 1000) },
	[IIO_CURRENT] = { "current", UNITS(1, 1000) },
	[IIO_POWER] = { "power", UNITS(1, 1000) },
	[IIO_ACCEL] = { "accel", UNITS(1, 1) },
	[IIO_ANGL_VEL] = { "anglvel", UNITS(1, 1) },
	[IIO_MAGN] = { "magn", UNITS(1, 10000) },
	[IIO_LIGHT] = { "illuminance", UNITS(1, 1) },
	[IIO_INTENSITY] = { "intensity", UNITS(1, 1) },
	[IIO_PROXIMITY] = { "proximity", UNITS(1, 1) },
	[IIO_TEMP] = { "temp", UNITS(1, 1000) },
	/* degrees: pi / 180 to ten digits */
	[IIO_INCLI] = { "incli", UNITS(26087, 1494675) },
	[IIO_ROT] = { "rot", UNITS(1, 1) },
	[IIO_ANGL] = { "angl", UNITS(1, 1) },
	[IIO_CAPACITANCE] = { "capacitance", UNITS(1, 1000000000) },
	[IIO_ALTVOLTAGE] = { "altvoltage", UNITS(1, 1000) },
	[IIO_CCT] = { "cct", UNITS(1, 1) },
	[IIO_PRESSURE] = { "pressure", UNITS(1000, 1) },
	[IIO_HUMIDITYRELATIVE] = { "humidityrelative", UNITS(1, 1000) },
	[IIO_ACTIVITY] = { "activity", UNITS(1, 1) },
	[IIO_STEPS] = { "steps", UNITS(1, 1) },
	[IIO_ENERGY] = { "energy", UNITS(1, 1) },
	[IIO_DISTANCE] = { "distance", UNITS(1, 1) },
	[IIO_VELOCITY] = { "velocity", UNITS(1, 1) },
	[IIO_CONCENTRATION] = { "concentration", UNITS(1, 1) },
	[IIO_RESISTANCE] = { "resistance", UNITS(1, 1) },
	[IIO_PH] = { "ph", UNITS(1, 1) },
	[IIO_UVINDEX] = { "uvindex", UNITS(1, 1) },
	[IIO_ELECTRICALCONDUCTIVITY] = { "electricalconductivity", UNITS(1, 1) },
	[IIO_COUNT] = { "count", UNITS(1, 1) },
	[IIO_INDEX] = { "index", UNITS(1, 1) },
	[IIO_GRAVITY] = { "gravity", UNITS(1, 1) },
	[IIO_POSITIONRELATIVE] = { "positionrelative", UNITS(1, 1000) },
	[IIO_PHASE] = { "phase", UNITS(1, 1) },
	[IIO_MASSCONCENTRATION] = { "massconcentration", UNITS(1, 1000000000) },
};

static const char * const modifiers[] = {
	[IIO_MOD_X] = "x",
	[IIO_MOD_Y] = "y",
	[IIO_MOD_Z] = "z",
	[IIO_MOD_X_AND_Y] = "x&y",
	[IIO_MOD_X_AND_Z] = "x&z",
	[IIO_MOD_Y_AND_Z] = "y&z",
	[IIO_MOD_X_AND_Y_AND_Z] = "x&y&z",
	[IIO_MOD_X_OR_Y] = "x|y",
	[IIO_MOD_X_OR_Z] = "x|z",
	[IIO_MOD_Y_OR_Z] = "y|z",
	[IIO_MOD_X_OR_Y_OR_Z] = "x|y|z",
	[IIO_MOD_ROOT_SUM_SQUARED_X_Y] = "sqrt(x^2+y^2)",
	[IIO_MOD_SUM_SQUARED_X_Y_Z] = "x^2+y^2+z^2",
	[IIO_MOD_ROOT_SUM_SQUARED_X_Y_Z] = "sqrt(x^2+y^2+z^2)",
	[IIO_MOD_LIGHT_BOTH] = "both",
	[IIO_MOD_LIGHT_IR] = "ir",
	[IIO_MOD_LIGHT_CLEAR] = "clear",
	[IIO_MOD_LIGHT_RED] = "red",
	[IIO_MOD_LIGHT_GREEN] = "green",
	[IIO_MOD_LIGHT_BLUE] = "blue",
	[IIO_MOD_LIGHT_UV] = "uv",
	[IIO_MOD_LIGHT_DUV] = "duv",
	[IIO_MOD_TEMP_AMBIENT] = "ambient",
	[IIO_MOD_TEMP_OBJECT] = "object",
	[IIO_MOD_NORTH_MAGN] = "from_north_magnetic",
	[IIO_MOD_NORTH_TRUE] = "from_north_true",
	[IIO_MOD_NORTH_MAGN_TILT_COMP] = "from_north_magnetic_tilt_comp",
	[IIO_MOD_NORTH_TRUE_TILT_COMP] = "from_north_true_tilt_comp",
	[IIO_MOD_RUNNING] = "running",
	[IIO_MOD_JOGGING] = "jogging",
	[IIO_MOD_WALKING] = "walking",
	[IIO_MOD_STILL] = "still",
	[IIO_MOD_I] = "i",
	[IIO_MOD_Q] = "q",
	[IIO_MOD_CO2] = "co2",
	[IIO_MOD_VOC] = "voc",
	[IIO_MOD_PM1] = "pm1",
	[IIO_MOD_PM2P5] = "pm2p5",
	[IIO_MOD_PM4] = "pm4",
	[IIO_MOD_PM10] = "pm10",
	[IIO_MOD_ETHANOL] = "ethanol",
	[IIO_MOD_H2] = "h2",
	[IIO_MOD_O2] = "o2",
	[IIO_MOD_LINEAR_X] = "linear_x",
	[IIO_MOD_LINEAR_Y] = "linear_y",
	[IIO_MOD_LINEAR_Z] = "linear_z",
	[IIO_MOD_PITCH] = "pitch",
	[IIO_MOD_YAW] = "yaw",
	[IIO_MOD_ROLL] = "roll",
};

static bool has_type(const struct iio_chan_spec *spec)
{
	return spec->type < ARRAY_SIZE(types) && types[spec->type].name;
}

/* As libiio shows it: voltage0, voltage0-voltage1, accel_x, temp, ... */
static bool make_id(const struct iio_chan_spec *spec, char id[ID_LENGTH])
{
	const char *type, *modifier = NULL;
	int n;

	if (!has_type(spec))
		return false;
	type = types[spec->type].name;
	n = scnprintf(id, ID_LENGTH, "%s", type);
	if (spec->indexed)
		n += scnprintf(id + n, ID_LENGTH - n, "%d", spec->channel);
	if (spec->indexed && spec->differential)
		n += scnprintf(id + n, ID_LENGTH - n, "-%s%d", type, spec->channel2);
	if (spec->modified) {
		if (spec->channel2 > 0 && spec->channel2 < ARRAY_SIZE(modifiers))
			modifier = modifiers[spec->channel2];
		if (!modifier)
			return false;
		scnprintf(id + n, ID_LENGTH - n, "_%s", modifier);
	}
	return true;
}

/* In the order of precedence. */
enum naming { BY_LABEL, BY_DATASHEET, BY_EXTENSION, BY_ID, NAMINGS };

/* page: one for the driver to write into. */
static bool has_name(struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
		     enum naming naming, const char *name, char *page)
{
	char id[ID_LENGTH];

	switch (naming) {
	case BY_LABEL:
		return indio_dev->info->read_label &&
		       indio_dev->info->read_label(indio_dev, spec, page) > 0 &&
		       sysfs_streq(page, name);
	case BY_DATASHEET:
		return spec->datasheet_name && !strcmp(spec->datasheet_name, name);
	case BY_EXTENSION:
		return spec->extend_name && !strcmp(spec->extend_name, name);
	default:
		return make_id(spec, id) && !strcmp(id, name);
	}
}

/* Driver locked. */
static const struct iio_chan_spec *find_spec(struct iio_dev *indio_dev, const char *name,
					     bool output, char *page)
{
	enum naming naming;
	int i;

	for (naming = 0; naming < NAMINGS; naming++)
		for (i = 0; i < indio_dev->num_channels; i++) {
			const struct iio_chan_spec *spec = &indio_dev->channels[i];

			if (spec->output == output && spec->type != IIO_TIMESTAMP &&
			    has_name(indio_dev, spec, naming, name, page))
				return spec;
		}
	return NULL;
}

int hytest_scan_place(struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
		      struct ht_scan_place *place, u32 *all_bytes)
{
	const struct iio_scan_type *type = iio_get_current_scan_type(indio_dev, spec);

	if (IS_ERR(type))
		return PTR_ERR(type);
	*place = (struct ht_scan_place){
		.bytes = type->storagebits / 8,
		.shift = type->shift,
		.bits = type->realbits,
		.is_signed = type->sign == 's' || type->sign == 'S',
		.big_endian = type->endianness == IIO_BE ||
			      (type->endianness == IIO_CPU && IS_ENABLED(CONFIG_CPU_BIG_ENDIAN)),
	};
	*all_bytes = place->bytes * max_t(u32, type->repeat, 1);
	if (type->storagebits % 8 || !is_power_of_2(place->bytes) || place->bytes > 8 ||
	    !place->bits || place->bits + place->shift > type->storagebits)
		return -EINVAL;
	return 0;
}

/* What a driver says of a channel, learnt while it is locked. */
struct traits {
	bool scale;
	bool offset;
	struct ht_number unit;
	s64 low_code;
	s64 high_code;
};

static void range_of_bits(const struct ht_scan_place *place, struct traits *traits)
{
	const u32 bits = place->bits - place->is_signed;

	traits->high_code = bits < 63 ? BIT_ULL(bits) - 1 : S64_MAX;
	traits->low_code = place->is_signed ? -traits->high_code - 1 : 0;
}

static bool range_of_driver(struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
			    struct traits *traits)
{
	int form = 0, length = 0, i, ret;
	const int *codes;

	if (!indio_dev->info->read_avail || !iio_channel_has_available(spec, IIO_CHAN_INFO_RAW))
		return false;
	ret = indio_dev->info->read_avail(indio_dev, spec, &codes, &form, &length,
					  IIO_CHAN_INFO_RAW);
	if (form != IIO_VAL_INT)
		return false;
	if (ret == IIO_AVAIL_RANGE) {
		traits->low_code = codes[0];
		traits->high_code = codes[2];
		return true;
	}
	if (ret != IIO_AVAIL_LIST || length < 1)
		return false;
	traits->low_code = codes[0];
	traits->high_code = codes[0];
	for (i = 1; i < length; i++) {
		traits->low_code = min_t(s64, traits->low_code, codes[i]);
		traits->high_code = max_t(s64, traits->high_code, codes[i]);
	}
	return true;
}

/* Codes of single reads and writes are ints. */
static void find_range(struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
		       struct traits *traits)
{
	struct ht_scan_place place;
	u32 bytes;

	traits->low_code = S32_MIN;
	traits->high_code = S32_MAX;
	if (range_of_driver(indio_dev, spec, traits))
		return;
	if (!hytest_scan_place(indio_dev, spec, &place, &bytes) && place.bits <= 32)
		range_of_bits(&place, traits);
	traits->high_code = min_t(s64, traits->high_code, S32_MAX);
}

static enum hytest_way find_way(const struct iio_dev *indio_dev, const struct iio_chan_spec *spec,
				bool may_scan)
{
	if (spec->output)
		return iio_channel_has_info(spec, IIO_CHAN_INFO_RAW) && indio_dev->info->write_raw ?
		       HYTEST_WRITTEN : HYTEST_UNBOUND;
	if (may_scan && (indio_dev->modes & INDIO_BUFFER_TRIGGERED) && spec->scan_index >= 0)
		return HYTEST_SCANNED;
	if (iio_channel_has_info(spec, IIO_CHAN_INFO_RAW))
		return HYTEST_READ_RAW;
	if (iio_channel_has_info(spec, IIO_CHAN_INFO_PROCESSED))
		return HYTEST_READ_PROCESSED;
	return HYTEST_UNBOUND;
}

/* Driver locked. */
static void describe(struct hytest_port *port, const struct iio_chan_spec *spec, bool may_scan,
		     struct traits *traits)
{
	struct iio_dev *indio_dev = port->iio.indio_dev;

	port->iio.channel = spec;
	port->scan_index = spec->scan_index;
	port->way = find_way(indio_dev, spec, may_scan);
	traits->scale = iio_channel_has_info(spec, IIO_CHAN_INFO_SCALE);
	traits->offset = iio_channel_has_info(spec, IIO_CHAN_INFO_OFFSET);
	traits->unit = (struct ht_number)UNITS(1, 1);
	if (has_type(spec))
		traits->unit = types[spec->type].unit;
	find_range(indio_dev, spec, traits);
}

static int read_number(struct hytest_port *port, enum iio_chan_info_enum what,
		       struct ht_number *number)
{
	int val = 0, val2 = 0;
	int form = iio_read_channel_attribute(&port->iio, &val, &val2, what);

	*number = (struct ht_number){ .val = val, .val2 = val2 };
	switch (form) {
	case IIO_VAL_INT:
		number->form = HT_NUMBER_INT;
		return 0;
	case IIO_VAL_INT_PLUS_MICRO:
		number->form = HT_NUMBER_MICRO;
		return 0;
	case IIO_VAL_INT_PLUS_NANO:
		number->form = HT_NUMBER_NANO;
		return 0;
	case IIO_VAL_FRACTIONAL:
		number->form = HT_NUMBER_FRACTION;
		return 0;
	case IIO_VAL_FRACTIONAL_LOG2:
		number->form = HT_NUMBER_FRACTION_LOG2;
		return 0;
	default:
		return form < 0 ? form : -EINVAL;
	}
}

/* No scale: 1, no offset: 0. Processed values have neither. */
static int find_converter(struct hytest_port *port, const struct traits *traits,
			  struct ht_converter *converter)
{
	int ret = 0;

	*converter = (struct ht_converter){
		.scale = { .form = HT_NUMBER_INT, .val = 1 },
		.unit = traits->unit,
		.low_code = traits->low_code,
		.high_code = traits->high_code,
	};
	if (port->way == HYTEST_READ_PROCESSED) {
		converter->scale = (struct ht_number){ .form = HT_NUMBER_NANO, .val2 = 1 };
		return 0;
	}
	if (traits->scale)
		ret = read_number(port, IIO_CHAN_INFO_SCALE, &converter->scale);
	if (!ret && traits->offset)
		ret = read_number(port, IIO_CHAN_INFO_OFFSET, &converter->offset);
	return ret;
}

static int make_channel(struct hytest_port *port, const struct ht_converter *converter,
			const struct ht_image_channel *image, struct hytest_arm *arm)
{
	int code;

	hytest_fpu_begin();
	code = ht_channel_init(&port->channel, converter, image);
	hytest_fpu_end();
	return code ? hytest_refuse_channel(arm, port->index, HYTEST_BIND_SCALE, 0) : 0;
}

/* The device of the port is known; with its driver locked for a moment. */
static enum hytest_bind_problem look_up(struct hytest_port *port, const char *name, bool output,
					bool may_scan, struct traits *traits)
{
	struct iio_dev *indio_dev = port->iio.indio_dev;
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	enum hytest_bind_problem problem = HYTEST_BIND_NO_DEVICE;
	const struct iio_chan_spec *spec;

	if (page && hytest_lock_driver(indio_dev)) {
		/* One of the device tree is known already, but not its direction. */
		spec = port->iio.channel;
		if (!spec)
			spec = find_spec(indio_dev, name, output, page);
		problem = HYTEST_BIND_NO_CHANNEL;
		if (spec && spec->output == output) {
			describe(port, spec, may_scan, traits);
			problem = port->way ? HYTEST_BIND_OK : HYTEST_BIND_NO_VALUE;
		}
		hytest_unlock_driver(indio_dev);
	}
	free_page((unsigned long)page);
	return problem;
}

/* In the device tree: io-channels by io-channel-names. */
static int find_in_tree(struct hytest_loop *loop, const char *name, struct hytest_port *port)
{
	struct iio_channel *channel;

	channel = hytest_tree_channel(loop, name, &port->tree);
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	port->iio.indio_dev = iio_device_get(channel->indio_dev);
	port->iio.channel = channel->channel;
	iio_channel_release(channel);
	return 0;
}

static int find_iio(struct hytest_loop *loop, const struct ht_image_channel *image, bool output,
		    bool may_scan, struct hytest_port *port, struct hytest_arm *arm)
{
	enum hytest_bind_problem problem;
	struct ht_converter converter;
	struct traits traits;
	int ret;

	if (image->device[0]) {
		problem = find_device(image->device, &port->iio.indio_dev);
		if (problem)
			return hytest_refuse_channel(arm, port->index, problem, 0);
	} else {
		ret = find_in_tree(loop, image->name, port);
		if (ret)
			return hytest_refuse_channel(arm, port->index, HYTEST_BIND_NO_DEVICE, 0);
	}
	problem = look_up(port, image->name, output, may_scan, &traits);
	if (problem)
		return hytest_refuse_channel(arm, port->index, problem, 0);
	ret = find_converter(port, &traits, &converter);
	if (ret)
		return hytest_refuse_channel(arm, port->index, HYTEST_BIND_SCALE, ret);
	return make_channel(port, &converter, image, arm);
}

/* A line of a chip, asked for as if a board file had given it to our device. */
static struct gpio_desc *get_line(struct hytest_loop *loop, const char *chip, unsigned int line)
{
	struct gpiod_lookup_table *table;
	struct gpio_desc *desc;

	table = kzalloc(struct_size(table, table, 2), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	table->dev_id = dev_name(loop->misc.this_device);
	table->table[0] = GPIO_LOOKUP(chip, line, "hytest", GPIO_ACTIVE_HIGH);
	gpiod_add_lookup_table(table);
	desc = gpiod_get(loop->misc.this_device, "hytest", GPIOD_IN);
	gpiod_remove_lookup_table(table);
	kfree(table);
	return desc;
}

static enum hytest_bind_problem line_problem(int error)
{
	switch (error) {
	case -ENODEV:
	case -ENOENT:
	case -EPROBE_DEFER:
		return HYTEST_BIND_NO_DEVICE;
	case -EINVAL:
		return HYTEST_BIND_NO_CHANNEL;
	default:
		return HYTEST_BIND_REFUSED;
	}
}

static int find_line(struct hytest_loop *loop, const struct ht_image_channel *image,
		     struct hytest_port *port, struct hytest_arm *arm)
{
	const struct ht_converter converter = {
		.scale = UNITS(1, 1),
		.unit = UNITS(1, 1),
		.high_code = 1,
	};
	struct gpio_desc *line = ERR_PTR(-EINVAL);
	enum hytest_bind_problem problem;
	u16 number;

	if (!image->device[0])
		line = hytest_tree_line(loop, image->name, &port->tree);
	else if (!kstrtou16(image->name, 10, &number) && number != U16_MAX)
		line = get_line(loop, image->device, number);
	if (IS_ERR(line)) {
		problem = line_problem(PTR_ERR(line));
		return hytest_refuse_channel(arm, port->index, problem,
					     problem == HYTEST_BIND_REFUSED ? PTR_ERR(line) : 0);
	}
	port->line = line;
	port->way = HYTEST_READ_LINE;
	return make_channel(port, &converter, image, arm);
}

/* Also after an error hytest_put_channel() must follow. */
int hytest_find_channel(struct hytest_loop *loop, const struct ht_image_channel *image,
			bool output, bool may_scan, struct hytest_port *port,
			struct hytest_arm *arm)
{
	switch (image->kind) {
	case HT_CHANNEL_IIO:
		return find_iio(loop, image, output, may_scan, port, arm);
	case HT_CHANNEL_GPIO:
		return find_line(loop, image, port, arm);
	default:
		return 0;
	}
}

void hytest_put_channel(struct hytest_port *port)
{
	if (port->line)
		gpiod_put(port->line);
	if (port->iio.indio_dev)
		iio_device_put(port->iio.indio_dev);
	put_device(port->tree);
}
