use strict;
use warnings;

# Counts and rewrites words.
sub words { return map { lc } $_[0] =~ /([a-z]+)/g }

sub rewrite {
    my ($line) = @_;
    $line =~ s/(\w)(\w+)/$2$1/g;
    $line =~ s/(\d+)/$1 > 400 ? "many" : "few"/ge;
    return join ' ', reverse split / /, $line;
}

my ($file, $rounds) = @ARGV;
open my $in, '<', $file or die;
my @lines = <$in>;
my (%count, $length);
for my $round (1 .. $rounds) {
    for my $line (@lines) {
        $count{$_}++ for words($line);
        $length += length rewrite($line);
    }
}
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$length $sorted[0] $sorted[-1]\n";
