internal import HTTPDNSClient

/// The smallest program that links the client, and with it every floor below: LinkageTests looks at what else came along.
@main
struct LinkageProbe {
    static func main() {
        print(HTTPDNSClient.self)
    }
}
