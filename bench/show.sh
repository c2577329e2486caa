# shellcheck shell=bash
# The drawings of bench/demo: a line of progress, two texts side by side, bars.  Sourced by it.
#
# In:  numbers and texts; COLUMNS, or the terminal, for the width.
# Out: plain characters on the standard output.  Where that is no terminal, progress is a line for each
#      step in place of one line that is written over.

shown_progress=

# The width of what is looked at; 80 where nobody knows.
screen_width()
{
	local size

	size=$({ stty size </dev/tty; } 2>/dev/null || true)
	echo "${COLUMNS:-${size#* }}" | grep -x '[1-9][0-9]*' || echo 80
}

# 5000000 is 5,000,000.
grouped()
{
	sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"
}

# repeated CHARACTER TIMES
repeated()
{
	local line

	printf -v line '%*s' "$2" ''
	echo "${line// /$1}"
}

# show_progress WHAT DONE OF TEXT: OF is 0 where nobody knows how far it is.
show_progress()
{
	local fifth=0 filled line

	if [ "$3" -gt 0 ]; then
		fifth=$(($2 * 5 / $3))
		filled=$(($2 * 20 / $3))
		line=$(printf '%-22s [%s%s] %3d %%  %s' "$1" "$(repeated '#' "$filled")" "$(repeated . $((20 - filled)))" $(($2 * 100 / $3)) "$4")
	else
		line=$(printf '%-22s %s' "$1" "$4")
	fi
	if [ -t 1 ]; then
		printf '\r\033[K%s' "$line"
	elif [ "$1 $fifth" != "$shown_progress" ]; then
		echo "$line"
		shown_progress="$1 $fifth"
	fi
}

# end_progress [WHAT DONE OF TEXT]: with a last line, which is shown in any case.
end_progress()
{
	shown_progress=
	[ $# = 0 ] || show_progress "$@"
	shown_progress=
	[ ! -t 1 ] || echo
}

# side_by_side LEFT RIGHT: two files beside each other if the screen is wide enough, else one after the other.
side_by_side()
{
	awk -v width="$(screen_width)" '
		NR == FNR { left[++n] = $0; if (length > left_width) left_width = length; next }
		{ right[++m] = $0; if (length > right_width) right_width = length }
		END {
			if (left_width + 3 + right_width <= width)
				for (i = 1; i <= n || i <= m; i++)
					printf "%-*s | %s\n", left_width, left[i], right[i]
			else {
				for (i = 1; i <= n; i++)
					print left[i]
				print ""
				for (i = 1; i <= m; i++)
					print right[i]
			}
		}' "$1" "$2"
}

# show_bars LABEL SECONDS...: a bar for each; the longest takes the width.
show_bars()
{
	printf '%s\t%s\n' "$@" | awk -F '\t' -v width="$(screen_width)" '
		{ label[NR] = $1; seconds[NR] = $2
		  if (length($1) > label_width) label_width = length($1)
		  if ($2 > most) most = $2 }
		END {
			room = (width < 110 ? width : 110) - label_width - 12
			for (i = 1; i <= NR; i++) {
				bar = ""
				for (n = 0; n < (most > 0 ? seconds[i] / most * room : 0); n++)
					bar = bar "#"
				printf "%-*s %s %.2f s\n", label_width, label[i], bar, seconds[i]
			}
		}'
}
