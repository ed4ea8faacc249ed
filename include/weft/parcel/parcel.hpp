// The whole task-runtime layer.
#pragma once

#include <weft/parcel/action.hpp>
#include <weft/parcel/archive.hpp>
#include <weft/parcel/await.hpp>
#include <weft/parcel/blocking.hpp>
#include <weft/parcel/channel.hpp>
#include <weft/parcel/condition_variable.hpp>
#include <weft/parcel/exceptions.hpp>
#include <weft/parcel/executor.hpp>
#include <weft/parcel/future.hpp>
#include <weft/parcel/group.hpp>
#include <weft/parcel/latch.hpp>
#include <weft/parcel/mutex.hpp>
#include <weft/parcel/object.hpp>
#include <weft/parcel/objects/array.hpp>
#include <weft/parcel/objects/names.hpp>
#include <weft/parcel/options.hpp>
#include <weft/parcel/parallel.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/parcel/runtime.hpp>
#include <weft/parcel/shared_future.hpp>
#include <weft/parcel/stop.hpp>
#include <weft/parcel/task.hpp>
#include <weft/parcel/waiter.hpp>
#include <weft/parcel/when.hpp>
