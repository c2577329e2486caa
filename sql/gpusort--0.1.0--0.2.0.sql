-- complain if the script is sourced in psql rather than by ALTER EXTENSION
\echo Use "ALTER EXTENSION gpusort UPDATE TO '0.2.0'" to load this file. \quit

