import HTTPDNS
import HTTPDNSCore
import HTTPDNSCurl

/// A client for which `one.test` is at a port of 127.0.0.1.
func mappedClient(
    _ port: UInt16,
    driver: TransportConfiguration.Driver = .platformDefault
) async throws -> HTTPDNSClient {
    var configuration = HTTPDNSClient.Configuration()
    configuration.driver = driver
    configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(port)"])]
    return try await HTTPDNSClient(configuration: configuration)
}
