# Keeps the servers' processes. Sourced by `start`; needs FOLDER. Every server runs in its foreground mode, so that $!
# is the server itself.

declare -A server_process=()

find_program() { PATH=$PATH:/usr/sbin:/sbin type -P "$1"; }

# A dead process that nobody has reaped still answers `kill -0`: read the state letter.
is_alive() {
    local line
    [ -n "${1:-}" ] && { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    line=${line##*) }
    [[ ${line%% *} != [ZX] ]]
}

tcp_answers() { (exec 4<>"/dev/tcp/$1/$2") 2>/dev/null; }

# Reserves ports until this script ends, below the ephemeral range (32768-60999), where client sockets sit: nobody who reserves
# can get them, while servers can listen (SO_REUSEADDR). The wanted one is among them unless someone listens on it.
reserve_ports() { # COUNT [WANTED]     sets the array `ports`
    coproc RESERVATION { exec perl -MSocket -e '
        my ($count, $wanted) = @ARGV;
        my (@sockets, @ports);
        $| = 1;
        while (@ports < $count) {
            my $port = $wanted || 16000 + int rand 16000;
            socket my $socket, PF_INET, SOCK_STREAM, 0 or die;
            # Connections of an earlier run at the wanted port that are still winding down do no harm.
            setsockopt $socket, SOL_SOCKET, SO_REUSEADDR, 1 if $wanted;
            $wanted = 0;
            bind $socket, sockaddr_in($port, INADDR_ANY) or next;
            setsockopt $socket, SOL_SOCKET, SO_REUSEADDR, 1;
            push @sockets, $socket;
            push @ports, $port;
        }
        print "@ports\n";
        <STDIN>' "$@"; }
    read -ra ports <&"${RESERVATION[0]}"
}

# start_server NAME "READY TEST" COMMAND...     waits until the test passes; on failure shows the end of the log
start_server() {
    local name=$1 ready=$2 try
    shift 2
    mkdir -p "$FOLDER/log"
    : >"$FOLDER/log/$name.log"
    # Killed with this script, however it ends: what they keep is in a temporary folder.
    setpriv --pdeathsig KILL "$@" </dev/null >"$FOLDER/log/$name.log" 2>&1 &
    server_process[$name]=$!
    for ((try = 0; try < 1800; try++)); do
        if ! is_alive "${server_process[$name]}"; then
            echo "$name ended at its start:" >&2
            tail -n 20 "$FOLDER/log/$name.log" >&2
            unset "server_process[$name]"
            return 1
        fi
        if eval "$ready"; then return 0; fi
        sleep 0.025
    done
    echo "$name did not get ready within 45 s:" >&2
    tail -n 20 "$FOLDER/log/$name.log" >&2
    return 1
}

stop_servers() {
    local process
    for process in "${server_process[@]}"; do
        kill -TERM "$process" 2>/dev/null
        kill -CONT "$process" 2>/dev/null # one that is held cannot act on TERM
    done
    local try
    for process in "${server_process[@]}"; do
        for ((try = 0; try < 80; try++)); do
            is_alive "$process" || break
            sleep 0.025
        done
        kill -KILL "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
    server_process=()
}
