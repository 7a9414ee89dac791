// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The conversion of a command line in curl's forms to one that ArgumentParser reads.
///
/// curl reads `-sSLo FILE`, `-XPOST`, `-d@FILE` and `-H 'A: b'` alike: single letters, of which the first with a value takes the
/// rest of its argument, or else the next one.
struct CurlArguments {
    /// The options of a command that have a value. A value may begin with `-`, so it must not be read as an option.
    private let valued: Set<String>
    /// Whether options of curl that the command does not have are refused by name.
    private let isCurlCommand: Bool

    /// - Parameter command: The name of the command; nil is returned for those without curl's options.
    init?(command: String) {
        switch command {
        case "fetch": (valued, isCurlCommand) = (Self.requestOptions.union(Self.fetchOptions), true)
        case "bench": (valued, isCurlCommand) = (Self.requestOptions.union(Self.benchOptions), false)
        default: return nil
        }
    }

    /// Returns the arguments of the program, converted if they are those of a command with curl's options.
    static func normalized(_ arguments: [String]) throws(CommandFailure) -> [String] {
        guard let command = arguments.first, let form = CurlArguments(command: command) else { return arguments }
        return [command] + (try form.normalized(arguments.dropFirst()))
    }

    private func normalized(_ arguments: ArraySlice<String>) throws(CommandFailure) -> [String] {
        var result: [String] = []
        var rest = arguments
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            if argument.hasPrefix("--") {
                try appendLong(argument, &rest, to: &result)
            } else if argument.hasPrefix("-"), argument.count > 1 {
                try appendLetters(argument.dropFirst(), &rest, to: &result)
            } else {
                result.append(argument)
            }
        }
        return result
    }

    private func appendLong(_ argument: String, _ rest: inout ArraySlice<String>, to result: inout [String])
        throws(CommandFailure)
    {
        let name = String(argument.prefix { $0 != "=" })
        try refuse(name)
        guard valued.contains(name) else { return result.append(argument) }
        let attached = name.count < argument.count ? String(argument.dropFirst(name.count + 1)) : nil
        append(name, attached ?? rest.popFirst(), to: &result)
    }

    private func appendLetters(_ letters: Substring, _ rest: inout ArraySlice<String>, to result: inout [String])
        throws(CommandFailure)
    {
        var letters = letters
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            try refuse(name)
            guard valued.contains(name) else {
                // ArgumentParser takes letters and digits only.
                result.append(name == "-#" ? "--progress-bar" : name)
                continue
            }
            return append(name, letters.isEmpty ? rest.popFirst() : String(letters), to: &result)
        }
    }

    /// Appends an option with its value. Without a value ArgumentParser reports that it is missing.
    private func append(_ name: String, _ value: String?, to result: inout [String]) {
        if let value, let kind = DataArgument.Kind(option: name) {
            result += ["--data", DataArgument.marked(value, kind)]
        } else if let value, name == "--form-string" {
            result += ["--form", FormArgument.marked(value)]
        } else if let value, let scheme = Self.socksSchemes[name] {
            result += ["--proxy", value.contains("://") ? value : "\(scheme)://\(value)"]
        } else {
            result += [name] + [value].compactMap(\.self)
        }
    }

    private func refuse(_ name: String) throws(CommandFailure) {
        guard isCurlCommand else { return }
        if let advice = Self.missingOptions[name] { throw .usage("fetch does not have curl's \(name)", hint: advice) }
        if Self.rareOptions.contains(name) { throw .usage("fetch does not have curl's \(name)", hint: Self.rareAdvice) }
    }
}

extension CurlArguments {
    private static let socksSchemes = [
        "--socks4": "socks4", "--socks4a": "socks4a", "--socks5": "socks5", "--socks5-hostname": "socks5h",
    ]

    /// The options with a value of the commands that send requests. A test compares them with the declared ones.
    static let requestOptions = names(
        """
        -X --request -H --header -d --data --data-ascii --data-binary --data-raw --data-urlencode -m --max-time
        --config --map --doh --bootstrap --answer-scope --cacert --allow --family
        """
    )
    static let benchOptions = names(
        """
        -c --concurrency -n --requests -z --duration --warm-up --rate --against
        """
    )
    static let fetchOptions = names(
        """
        -o --output -D --dump-header -w --write-out -C --continue-at --max-redirs --max-redirects --cache --har
        --report --url -u --user --oauth2-bearer -A --user-agent -e --referer -b --cookie -T --upload-file -F --form
        --form-string -r --range --limit-rate --max-filesize -x --proxy -U --proxy-user --noproxy --socks4 --socks4a
        --socks5 --socks5-hostname --resolve --connect-to --unix-socket --interface --connect-timeout --retry
        --retry-delay -E --cert --key --pass --tls-max --pinnedpubkey --proto --proto-redir
        """
    )

    /// The options of curl whose meaning the client does not offer, with the advice for each.
    static let missingOptions: [String: String] = [
        "-K": "write the options on the command line", "-q": "leave it out: no .curlrc is read",
        "--disable": "leave it out: no .curlrc is read",
        "-c": "cookies are not written; -b 'NAME=VALUE' sends some",
        "--cookie-jar": "cookies are not written; -b 'NAME=VALUE' sends some",
        "-j": "leave it out: no cookies are stored", "--junk-session-cookies": "leave it out: no cookies are stored",
        "-n": "write -u USER:PASSWORD", "--netrc": "write -u USER:PASSWORD", "--netrc-file": "write -u USER:PASSWORD",
        "--netrc-optional": "leave it out: no .netrc is read",
        "--next": "run fetch once for each request", "-:": "run fetch once for each request",
        "-Z": "bench loads a URL with concurrent requests", "--parallel": "bench loads a URL with concurrent requests",
        "--tr-encoding": "leave it out: the client asks for no transfer coding",
        "-J": "name the file with -o FILE", "--remote-header-name": "name the file with -o FILE",
        "-R": "leave it out: a file has the time at which it was written",
        "--remote-time": "leave it out: a file has the time at which it was written",
        "--output-dir": "write -o FOLDER/FILE", "--create-dirs": "create the folder before",
        "--rate": "bench --rate limits the requests in a second",
        "--retry-max-time": "--max-time limits the call with its retries",
        "--anyauth": "write -u USER:PASSWORD for Basic, or --digest -u USER:PASSWORD",
        "--ntlm": "the client has Basic, Digest and Bearer", "--negotiate": "the client has Basic, Digest and Bearer",
        "--aws-sigv4": "the client has Basic, Digest and Bearer",
        "--proxy-digest": "the file has the login of the proxy, in client.proxy",
        "--proxy-ntlm": "the client has Basic and Digest for proxies",
        "--proxy-negotiate": "the client has Basic and Digest for proxies",
        "--proxy-header": "-U USER:PASSWORD is the login of the proxy",
        "-p": "leave it out: https has a tunnel, and http none",
        "--proxytunnel": "leave it out: https has a tunnel, and http none",
        "--preproxy": "-x takes one proxy", "--proxy1.0": "-x speaks HTTP/1.1 to the proxy",
        "--proxy-insecure": "-k holds for origins only",
        "--proxy-cacert": "--cacert names the authorities of the proxy, too",
        "--http3": "the client has HTTP/1.0, HTTP/1.1 and HTTP/2",
        "--http3-only": "the client has HTTP/1.0, HTTP/1.1 and HTTP/2",
        "--http0.9": "the client refuses HTTP/0.9", "--doh-url": "write --doh URL",
        "--doh-insecure": "--cacert FILE names the authority of the service",
        "--dns-servers": "write --doh URL, or --map HOST=ADDRESS", "--dns-interface": "--interface holds for origins",
        "--abstract-unix-socket": "--unix-socket takes the path of a socket",
        "--local-port": "the system chooses the port", "-z": "write -H 'If-Modified-Since: DATE'",
        "--time-cond": "write -H 'If-Modified-Since: DATE'", "--etag-save": "--cache FOLDER validates stored responses",
        "--etag-compare": "--cache FOLDER validates stored responses",
        "-y": "client.timeouts of a file limits idle time",
        "--speed-time": "client.timeouts of a file limits idle time",
        "-Y": "client.timeouts of a file limits idle time",
        "--speed-limit": "client.timeouts of a file limits idle time",
        "--post301": "-X POST keeps the method on redirects", "--post302": "-X POST keeps the method on redirects",
        "--post303": "-X POST keeps the method on redirects", "--request-target": "the target is that of the URL",
        "--ciphers": "client.trust of a file has the cipher suites",
        "--tls13-ciphers": "client.trust of a file has the cipher suites",
        "--curves": "client.trust of a file has the curves", "--capath": "--cacert takes one file",
        "--tlsv1": "leave it out: TLS 1.2 is the oldest version", "-1": "leave it out: TLS 1.2 is the oldest version",
        "--tlsv1.0": "TLS 1.2 is the oldest version", "--tlsv1.1": "TLS 1.2 is the oldest version",
        "-2": "TLS 1.2 is the oldest version", "-3": "TLS 1.2 is the oldest version",
        "--fail-early": "leave it out: there is one URL for each run",
        "--no-location": "leave it out: redirects are followed with -L only",
        "-M": "resolve-test help fetch prints the help", "--manual": "resolve-test help fetch prints the help",
        "-V": "resolve-test --version prints the versions",
        "--trace": "-v prints the heads, and --har FILE writes them with the bodies",
        "--trace-ascii": "-v prints the heads, and --har FILE writes them with the bodies",
        "--stderr": "redirect standard error in the shell", "--libcurl": "HTTPDNSClient is the library",
        "--keepalive-time": "client.connections of a file has the times",
        "--no-keepalive": "client.connections of a file has the times",
        "--happy-eyeballs-timeout-ms": "client.connections of a file has the time", "-a": "fetch speaks HTTP only",
        "--append": "fetch speaks HTTP only", "-B": "fetch speaks HTTP only", "--use-ascii": "fetch speaks HTTP only",
        "-l": "fetch speaks HTTP only", "-P": "fetch speaks HTTP only", "-Q": "fetch speaks HTTP only",
        "-t": "fetch speaks HTTP only",
    ]

    /// Further options of curl that the client has no setting for.
    static let rareOptions = names(
        """
        --alt-svc --cert-status --cert-type --create-file-mode --crlfile --delegation --disallow-username-in-url
        --doh-cert-status --egd-file --engine --expect100-timeout --false-start --form-escape --ftp-account --ftp-ssl-ccc
        --ftp-ssl-ccc-mode --ftp-ssl-control --haproxy-protocol --hsts --ignore-content-length --key-type --login-options
        --no-alpn --no-clobber --no-npn --no-sessionid --ntlm-wb --parallel-immediate --parallel-max --proto-default
        --proxy-anyauth --proxy-basic --proxy-capath --proxy-cert --proxy-cert-type --proxy-ciphers --proxy-crlfile
        --proxy-key --proxy-key-type --proxy-pass --proxy-pinnedpubkey --proxy-service-name --proxy-ssl-allow-beast
        --proxy-ssl-auto-client-cert --proxy-tls13-ciphers --proxy-tlsauthtype --proxy-tlspassword --proxy-tlsuser
        --proxy-tlsv1 --pubkey --remote-name-all --sasl-authzid --sasl-ir --socks5-basic --socks5-gssapi
        --socks5-gssapi-nec --socks5-gssapi-service --ssl --ssl-allow-beast --ssl-auto-client-cert --ssl-no-revoke --ssl-reqd
        --ssl-revoke-best-effort --sslv2 --sslv3 --styled-output --suppress-connect-headers --tcp-fastopen --tlsauthtype
        --tlspassword --tlsuser --trace-time --url-query --xattr
        """
    )

    private static func names(_ list: String) -> Set<String> {
        Set(list.split(whereSeparator: \.isWhitespace).map(String.init))
    }

    private static let rareAdvice = "leave it out if the request does not need it: the client has no such setting"
}
