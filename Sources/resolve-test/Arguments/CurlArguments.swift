// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
/// The conversion of a command line in curl's forms to one that ArgumentParser reads.
///
/// curl reads `-sSLo FILE`, `-XPOST`, `-d@FILE` and `-H 'A: b'` alike: single letters, of which the first with a value takes the
/// rest of its argument, or else the next one.
struct CurlArguments {
    /// The options of a command that have a value. A value may begin with `-`, so it must not be read as an option.
    let valued: Set<String>
    /// Whether options of curl that the command does not have are refused by name.
    private let isCurlCommand: Bool

    /// - Parameter command: The name of the command; nil is returned for those without curl's options.
    init?(command: String) {
        isCurlCommand = command == "fetch"
        guard isCurlCommand || command == "bench" else { return nil }
        valued = OptionNames(of: command).valued
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
        if let value, let kind = DataArgument.kinds[name] {
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
        if let advice = Self.refused[name] { throw .usage("fetch does not have curl's \(name)", hint: advice) }
    }
}

extension CurlArguments {
    private static let socksSchemes = [
        "--socks4": "socks4", "--socks4a": "socks4a", "--socks5": "socks5", "--socks5-hostname": "socks5h",
    ]

    /// The options of curl whose meaning the client does not offer, with the advice for each.
    static let refused: [String: String] = advice.reduce(into: [:]) { refused, row in
        for name in row.names.split(whereSeparator: \.isWhitespace) { refused[String(name)] = row.text }
    }

    private static let advice: [(text: String, names: String)] = [
        ("write the options on the command line", "-K"),
        ("leave it out: no .curlrc is read", "-q --disable"),
        ("cookies are not written; -b 'NAME=VALUE' sends some", "-c --cookie-jar"),
        ("leave it out: no cookies are stored", "-j --junk-session-cookies"),
        ("write -u USER:PASSWORD", "-n --netrc --netrc-file"),
        ("leave it out: no .netrc is read", "--netrc-optional"),
        ("run fetch once for each request", "--next -:"),
        ("bench loads a URL with concurrent requests", "-Z --parallel"),
        ("leave it out: the client asks for no transfer coding", "--tr-encoding"),
        ("name the file with -o FILE", "-J --remote-header-name"),
        ("leave it out: a file has the time at which it was written", "-R --remote-time"),
        ("write -o FOLDER/FILE", "--output-dir"),
        ("create the folder before", "--create-dirs"),
        ("bench --rate limits the requests in a second", "--rate"),
        ("--max-time limits the call with its retries", "--retry-max-time"),
        ("write -u USER:PASSWORD for Basic, or --digest -u USER:PASSWORD", "--anyauth"),
        ("the client has Basic, Digest and Bearer", "--ntlm --negotiate --aws-sigv4"),
        ("the file has the login of the proxy, in client.proxy", "--proxy-digest"),
        ("the client has Basic and Digest for proxies", "--proxy-ntlm --proxy-negotiate"),
        ("-U USER:PASSWORD is the login of the proxy", "--proxy-header"),
        ("leave it out: https has a tunnel, and http none", "-p --proxytunnel"),
        ("-x takes one proxy", "--preproxy"),
        ("-x speaks HTTP/1.1 to the proxy", "--proxy1.0"),
        ("-k holds for origins only", "--proxy-insecure"),
        ("--cacert names the authorities of the proxy, too", "--proxy-cacert"),
        ("the client has HTTP/1.0, HTTP/1.1 and HTTP/2", "--http3 --http3-only"),
        ("the client refuses HTTP/0.9", "--http0.9"),
        ("write --doh URL", "--doh-url"),
        ("--cacert FILE names the authority of the service", "--doh-insecure"),
        ("write --doh URL, or --map HOST=ADDRESS", "--dns-servers"),
        ("--interface holds for origins", "--dns-interface"),
        ("--unix-socket takes the path of a socket", "--abstract-unix-socket"),
        ("the system chooses the port", "--local-port"),
        ("write -H 'If-Modified-Since: DATE'", "-z --time-cond"),
        ("--cache FOLDER validates stored responses", "--etag-save --etag-compare"),
        ("client.timeouts of a file limits idle time", "-y --speed-time -Y --speed-limit"),
        ("-X POST keeps the method on redirects", "--post301 --post302 --post303"),
        ("the target is that of the URL", "--request-target"),
        ("client.trust of a file has the cipher suites", "--ciphers --tls13-ciphers"),
        ("client.trust of a file has the curves", "--curves"),
        ("--cacert takes one file", "--capath"),
        ("leave it out: TLS 1.2 is the oldest version", "--tlsv1 -1"),
        ("TLS 1.2 is the oldest version", "--tlsv1.0 --tlsv1.1 -2 -3"),
        ("leave it out: there is one URL for each run", "--fail-early"),
        ("leave it out: redirects are followed with -L only", "--no-location"),
        ("resolve-test help fetch prints the help", "-M --manual"),
        ("resolve-test --version prints the versions", "-V"),
        ("-v prints the heads, and --har FILE writes them with the bodies", "--trace --trace-ascii"),
        ("redirect standard error in the shell", "--stderr"),
        ("HTTPDNSClient is the library", "--libcurl"),
        ("client.connections of a file has the times", "--keepalive-time --no-keepalive"),
        ("client.connections of a file has the time", "--happy-eyeballs-timeout-ms"),
        ("fetch speaks HTTP only", "-a --append -B --use-ascii -l -P -Q -t"),
        (
            "leave it out if the request does not need it: the client has no such setting",
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
        ),
    ]
}
#endif
