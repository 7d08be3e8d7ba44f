<?php
// WordPress's database class, which writes every statement with its answer to the file LOG. Rows are sorted, and so are
// lists of numbers, because few statements say in which order they want all rows; pages show the order where that counts. Of what is said about
// tables, in which servers differ, only the number of rows is kept.
class recording_wpdb extends wpdb {
    public function query( $query ) {
        $result = parent::query( $query );
        $rows = array_map( 'json_encode', $this->last_result ?: array() );
        if ( preg_match( '/^\s*(SHOW|DESCRIBE|CHECK|ANALYZE|REPAIR|OPTIMIZE)\b/i', $query ) ) {
            $rows = array();
        }
        sort( $rows );
        $in_order = function ( $list ) {
            $numbers = preg_split( '/,\s*/', $list[1] );
            sort( $numbers );
            return 'IN (' . implode( ',', $numbers ) . ')';
        };
        $answer = array(
            'statement' => preg_replace_callback( "/\\bIN \\(([\\d, ']+)\\)/", $in_order, $this->last_query ),
            'result'    => $result,
            'error'     => $this->last_error === '' ? '' : 'error ' . mysqli_errno( $this->dbh ),
            'inserted'  => $this->insert_id,
            'rows'      => $rows,
        );
        file_put_contents( getenv( 'LOG' ), json_encode( $answer, JSON_PARTIAL_OUTPUT_ON_ERROR ) . "\n", FILE_APPEND );
        return $result;
    }
}
$wpdb = new recording_wpdb( DB_USER, DB_PASSWORD, DB_NAME, DB_HOST );
