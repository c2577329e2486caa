-- The view gpusort_devices reads its new function now.
DROP FUNCTION gpusort_devices_0_1();

