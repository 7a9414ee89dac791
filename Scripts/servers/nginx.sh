# nginx as the origins. Sourced by `start`; needs FOLDER, PKI, tls_port, http1_port, http_port, has_ipv6.

# The files that the origins serve. Large ones are sparse or shrink well: they take no room and no time.
write_origin_files() {
    local www=$FOLDER/nginx/www
    mkdir -p "$www" "$FOLDER/nginx/temp" "$FOLDER/nginx/stored"
    head -c 1024 /dev/zero | tr '\0' 'x' >"$www/a.jpg"
    cp "$www/a.jpg" "$www/1k.bin"
    head -c 1048576 /dev/urandom >"$www/1m.bin"
    truncate -s 100M "$www/100m.bin"
    local line
    for ((line = 0; line < 2000; line++)); do echo "line $line of a text that shrinks well"; done >"$www/text.txt"
    head -c 67108864 /dev/zero | gzip -1 >"$www/bomb.gz"
    echo 'user:{PLAIN}secret' >"$FOLDER/nginx/passwords"
    sed "s#@WWW@#$www#g" "$SCRIPTS/origin.conf" >"$FOLDER/nginx/origin.conf"
}

# listen lines for ADDRESS... on the three ports, with EXTRA words
listen_lines() { # EXTRA ADDRESS...
    local extra=$1 address
    shift
    for address in "$@"; do
        echo "listen $address:$tls_port ssl http2 $extra;"
        echo "listen $address:$http1_port ssl $extra;"
    done
}

# a server that shows CERTIFICATE for NAMES
server_block() { # LISTEN-EXTRA DIRECTIVES CERTIFICATE "NAMES" ADDRESS...
    local extra=$1 directives=$2 certificate=$3 names=$4
    shift 4
    cat <<CONF
    server {
        $(listen_lines "$extra" "$@")
        server_name $names;
        ssl_certificate $PKI/$certificate.pem;
        ssl_certificate_key $PKI/$certificate.key;
        $directives
        include $FOLDER/nginx/origin.conf;
    }
CONF
}

write_nginx_configuration() {
    local home=$FOLDER/nginx modules=/usr/lib/nginx/modules user=
    local good=(127.0.0.2 127.0.0.3 127.0.0.4) plain=(127.0.0.2 127.0.0.3 127.0.0.4 127.0.0.5) address
    if [ "$has_ipv6" = true ]; then
        good+=('[::1]')
        plain+=('[::1]')
    fi
    # Started by root, workers would become `nobody`, who cannot read the folder.
    [ "$(id -u)" = 0 ] && user='user root;'
    local good_names
    good_names=$(openssl x509 -in "$PKI/good.pem" -noout -ext subjectAltName | tail -n 1 | sed 's/ *DNS://g; s/,/ /g')
    cat >"$home/nginx.conf" <<CONF
load_module $modules/ndk_http_module.so;
load_module $modules/ngx_http_lua_module.so;
$user
daemon off;
# One process: SIGSTOP holds it whole, and nobody outlives it.
master_process off;
pid $home/pid;
error_log stderr info;
events { worker_connections 4096; }
http {
    client_body_temp_path $home/temp/body; proxy_temp_path $home/temp/proxy; fastcgi_temp_path $home/temp/fastcgi;
    uwsgi_temp_path $home/temp/uwsgi; scgi_temp_path $home/temp/scgi;
    lua_package_path "$SCRIPTS/?.lua;;";
    log_format facts escape=json '{"time":\$msec,"duration":\$request_time,"address":"\$server_addr","port":\$server_port,'
        '"sni":"\$ssl_server_name","host":"\$http_host","request":"\$request","protocol":"\$server_protocol",'
        '"status":\$status,"received":\$request_length,"sent":\$bytes_sent,"bodySent":\$body_bytes_sent,'
        '"client":"\$remote_addr","clientPort":\$remote_port,"connection":\$connection,'
        '"requestOnConnection":\$connection_requests,"tls":"\$ssl_protocol","sessionReused":"\$ssl_session_reused",'
        '"sessionID":"\$ssl_session_id","clientSubject":"\$ssl_client_s_dn","clientVerification":"\$ssl_client_verify",'
        '"userAgent":"\$http_user_agent","traceparent":"\$http_traceparent","baggage":"\$http_baggage",'
        '"range":"\$http_range","ifRange":"\$http_if_range"}';
    # Whole bodies below /limited/ stop at their limit; their rests do not.
    map \$http_range \$whole_rate { "" 1k; default 0; }
    access_log $home/access.log facts;
    types { image/jpeg jpg; text/plain txt; application/octet-stream bin; }
    server_names_hash_bucket_size 128;
    large_client_header_buffers 8 64k;
    client_max_body_size 0;
    client_body_buffer_size 64k;
    keepalive_timeout 60s;
    keepalive_requests 1000000;
    http2_max_concurrent_streams 128;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:sessions:1m;

    # No server name: the good certificate, and a line in the log. A name that is not served here: the handshake fails.
    server {
        $(listen_lines default_server "${good[@]}")
        ssl_certificate $PKI/good.pem;
        ssl_certificate_key $PKI/good.key;
        ssl_certificate_by_lua_block { require("origin").handshake(true) }
        include $home/origin.conf;
    }
$(server_block "" "" good "$good_names" "${good[@]}")
$(server_block "" "" expired expired.test 127.0.0.2)
$(server_block "" "" wrong wrong.test 127.0.0.2)
$(server_block "" "" selfsigned selfsigned.test 127.0.0.2)
$(server_block "" "" untrusted untrusted.test 127.0.0.2)
$(server_block "" "ssl_client_certificate $PKI/clients-ca.pem; ssl_verify_client on;" tenant-whole tenant.test 127.0.0.2)
    # Somebody else's server: whatever name is asked for, it shows its own certificate.
$(server_block default_server 'ssl_certificate_by_lua_block { require("origin").handshake(false) }' other other.test 127.0.0.5)
    # Clear text.
    server {
        $(for address in "${plain[@]}"; do echo "listen $address:$http_port;"; done)
        server_name _;
        include $home/origin.conf;
    }
}
CONF
}

start_nginx() {
    write_nginx_configuration
    : >"$FOLDER/nginx/access.log"
    start_server nginx "nginx_is_ready" \
        "$(find_program nginx)" -p "$FOLDER/nginx" -e stderr -c "$FOLDER/nginx/nginx.conf"
}

# A stranger on one of the ports would answer in nginx's place while nginx tries to bind it again and again: that it could
# not is in its log before the last of its ports answers.
nginx_is_ready() {
    tcp_answers 127.0.0.2 "$tls_port" && tcp_answers 127.0.0.5 "$http_port" &&
        ! grep -qs 'bind() to' "$FOLDER/log/nginx.log"
}
