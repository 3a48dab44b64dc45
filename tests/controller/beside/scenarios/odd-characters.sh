# Jobs, nodes and reservations whose texts have quotes, backslashes, control characters, and bytes that are no UTF-8.
name=$'quote" back\\slash slash/ <b>&amp;\x27'
control=$'tab\tbell\a escape\e[31m delete\x7f'
mkdir -p "$name" bytes
job QUOTES -H -J "$name" --comment="$name" -D "$name" -o "$name.out" --wrap true
job CONTROL -H -J "$control" --comment="$control" --wrap true
job LINES -H -J $'two\nlines\r' --comment=$'two\nlines\r' --wrap true
job EMOJI -H -J $'\u00e9\u4e2d\U1f600' --comment=$'\u2028\u202e\U1f600\ufeff' --wrap true
job BYTES -H -J $'half\xff\xc3' --comment=$'\xed\xa0\x80\xf0\x9f' --wrap true
job EMPTY -H -J '' --comment='' --wrap true
job FORMULA -H -J '=1+1' --comment=$'@SUM(1;2)|\x27-1' --wrap true
job PERCENT -H -J '%n%s%x{}[1]' --comment='null' -o '%x.out' --wrap true
scontrol update jobid="$QUOTES" admincomment="$name"
scontrol update jobid="$EMOJI" admincomment=$'\U1f600'
look_documents held QUOTES CONTROL LINES EMOJI BYTES EMPTY FORMULA PERCENT
scontrol update nodename=n01 state=drain reason="$name"
scontrol update nodename=n02 state=drain reason=$'\U1f600 \xff'
scontrol update nodename=n03 state=drain reason=$'two\nlines \e[31m'
scontrol update nodename=n04 comment="$name"
document drained "sinfo --json"
scontrol update nodename=n04 comment=
scancel -u "$(id -un)"
until_job QUOTES CANCELLED
look_documents cancelled QUOTES LINES BYTES
