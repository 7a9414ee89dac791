// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNSConfiguration
internal import HTTPDNSLocalProvider
internal import HTTPDNSPrimitives

/// `serve FILE`: a local HTTP-DNS provider.
struct ServeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve a mappings file as an HTTP-DNS provider, for development, CI and staging.",
        usage: "resolve-test serve [<options>] <FILE>",
        discussion: """
            Speaks DNS over HTTPS (RFC 8484), the JSON DNS of Google, Cloudflare and Alidns, Alibaba's HTTPDNS versions 1 and \
            2, and Tencent's. The part serve of the file has the accounts, against which signatures, their times and ciphers \
            are checked, and the names whose answers are delayed, fail, are garbage or rotate. Prints a line for each query. \
            Reads the file again when it changes. SIGTERM and Ctrl-C let queries in flight finish. Needs the package trait \
            LocalProvider.
            """
    )

    /// The default port of HTTP-DNS: that of DNS plus 8000, which needs no root.
    private static let defaultPort: UInt16 = 8053

    @Argument(
        help: ArgumentHelp("Mappings: a configuration file or a hosts file.", valueName: "FILE"),
        completion: .file()
    ) var file: String
    @Option("--listen", "ADDRESS", "Address to listen on.") var addressText = "127.0.0.1"
    @Option("--port", "PORT", "Port to listen on; 0 takes a free one.") var port: UInt16 = Self.defaultPort
    @Flag("--tls", "Serve HTTPS, with HTTP/2 and a certificate that is generated at start.") var usesTLS = false
    @Option("--name", "NAME", "With --tls: a name in the certificate, besides localhost. Repeatable.")
    var names: [String] = []
    @Option(
        "--write-certificate",
        "FILE",
        "With --tls: write the certificate to this file, for ca_file and --cacert.",
        completion: .file()
    )
    var certificateOutput: String?
    @Option("--certificate", "FILE", "Serve HTTPS with this certificate, in PEM; needs --key.", completion: .file())
    var certificateFile: String?
    @Option("--key", "FILE", "Private key of --certificate, in PEM.", completion: .file()) var keyFile: String?

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) async throws -> Int32 {
        #if LocalProvider
        var configuration = HTTPDNSProviderServer.Configuration(.file(file))
        guard let address = HTTPDNSAddress(addressText) else {
            throw CommandFailure.usage(
                "--listen \"\(PrintableText.line(addressText))\" is not an address",
                hint: "give an address of this machine, such as 127.0.0.1"
            )
        }
        configuration.address = address
        configuration.port = port
        configuration.tls = try tls()
        let report = ServeReport(file: file, output: output, console: console)
        configuration.onQuery = { report.tell($0) }
        configuration.onReload = { report.tell(reloadError: $0) }
        do {
            try await HTTPDNSProviderServer(configuration).run { [certificateOutput] listener in
                report.tell(listener, certificateFile: certificateOutput)
            }
        } catch let error as HTTPDNSProviderServerError {
            let kind: CommandFailure.Kind = error.code == .badCertificate ? .usage : .failed
            throw CommandFailure(kind: kind, code: "\(error.code)", message: "\(error)")
        }
        return ExitStatus.done
        #else
        throw CommandFailure.withoutTrait("LocalProvider", neededBy: "serve")
        #endif
    }

    #if LocalProvider
    private func tls() throws(CommandFailure) -> HTTPDNSProviderServer.Configuration.TLS? {
        switch (certificateFile, keyFile) {
        case (let certificate?, let key?):
            guard !usesTLS, names.isEmpty, certificateOutput == nil else {
                throw .usage(
                    "--certificate excludes --tls, --name and --write-certificate",
                    hint: "--tls generates a certificate, and --certificate reads one"
                )
            }
            return .files(certificate: certificate, key: key)
        case (nil, nil):
            guard usesTLS || names.isEmpty && certificateOutput == nil else {
                throw .usage(
                    "--name and --write-certificate need --tls, which generates the certificate",
                    hint: "add --tls"
                )
            }
            return usesTLS ? .generated(names: names) : nil
        default: throw .usage("--certificate and --key belong together, and one of them is missing")
        }
    }
    #endif
}
#endif
