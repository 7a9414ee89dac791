# BIND as the HTTP-DNS provider: authoritative for test., DoH over TLS and HTTP/2, plain DNS for the tests' own tools.
# Sourced by `start`; needs FOLDER, PKI, doh_port, dns_port, dot_port, has_ipv6.

write_named_configuration() {
    local home=$FOLDER/named ipv6=
    mkdir -p "$home"
    cp "$SCRIPTS/test.zone" "$home/test.zone"
    # Without this answer to a missing ::1 BIND would only warn; then tests would wait for a port that never opens.
    [ "$has_ipv6" = true ] && ipv6="listen-on-v6 port $doh_port tls service http service { ::1; }; listen-on-v6 port $dot_port tls service { ::1; };"
    cat >"$home/named.conf" <<CONF
tls service { cert-file "$PKI/doh.pem"; key-file "$PKI/doh.key"; };
http service { endpoints { "/dns-query"; "/other/path"; }; listener-clients 500; streams-per-connection 100; };
options {
    directory "$home"; pid-file none; session-keyfile none; lock-file none;
    listen-on port $dns_port { 127.0.0.1; };
    listen-on port $dot_port tls service { 127.0.0.1; };
    listen-on port $doh_port tls service http service { 127.0.0.1; };
    $ipv6
    listen-on-v6 { none; };
    http-listener-clients 500;
    recursion no; allow-query { any; }; allow-transfer { none; }; notify no; dnssec-validation no;
    minimal-responses yes; rrset-order { order none; }; max-records-per-type 0;
    response-padding { any; } block-size 128;
    querylog yes;
};
controls { };
zone "test" { type primary; file "test.zone"; allow-update { 127.0.0.1; ::1; }; check-names ignore; };
// A zone whose file is missing: SERVFAIL for every name in it.
zone "broken.test" { type primary; file "missing.zone"; };
CONF
    [ -n "$ipv6" ] && sed -i '/listen-on-v6 { none; };/d' "$home/named.conf"
    return 0
}

# AppArmor's profile for /usr/sbin/named, which Debian installs, forbids every folder but BIND's own. It goes by path.
named_program() {
    local program
    program=$(find_program named)
    if [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ]; then
        cp "$program" "$FOLDER/named/named"
        program=$FOLDER/named/named
    fi
    echo "$program"
}

start_named() {
    write_named_configuration
    # The sockets listen before the zones are loaded: only this line means ready.
    start_server named "grep -q ' running\$' '$FOLDER/log/named.log'" \
        "$(named_program)" -g -n 1 -c "$FOLDER/named/named.conf" || return 1
    # BIND goes on without a socket that it could not open.
    ! grep -q 'interface ignored\|address in use' "$FOLDER/log/named.log"
}
