/// The values of a transfer, which the client and the transport below it share. The client has a name of its own for each, such as
/// `HTTPDNSClient.Exchange.Timings`: use that one.
public enum HTTPDNSTransfer {}
